import type { Static, TSchema } from 'typebox';
import { SERVICES, upstreamPlace } from '../dns-values.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../json/json.js';
import { checked, SchemaError } from '../schema-check.js';
import { flag, object, text, texts } from '../schemas.js';
import { Type } from '../typebox.js';

/**
 * The typed members of a file for servers from 0.4.0 on, keys left out: a value of another type ends their start, null is as
 * good as absent, and a member that is not here is passed over.
 */
export interface ServerFileSchema {
  /** The number that such a file has in `config_version`; null where it has none. */
  readonly configVersion: number | null;
  /** The members of `LATER_MEMBERS` that these servers read. */
  readonly laterMembers: readonly string[];
  /** Returns what ends the start of a server, as a clause that begins with the place; null where nothing does. */
  problem(members: JsonObject): string | null;
}

/** The root members that came with 0.4.6 and 0.4.7, over which the servers before pass. */
export const LATER_MEMBERS: readonly string[] = ['domain', 'tls', 'subscription', 'overnet', 'local_access'];

const is = text('Text.');
const isFlag = flag('Flag.');
const isTexts = texts('Texts.');
const maybe = <S extends TSchema>(schema: S) => Type.Optional(schema);
const integer = (maximum: bigint) => Type.BigInt({ minimum: 0n, maximum, expected: `an integer from 0 to ${maximum}` });
const port = integer(65_535n);
const number = integer(2n ** 32n - 1n);
const addresses = Type.Union([is, isTexts], { expected: 'a string or an array of strings' });
const oneOf = (words: readonly string[]) =>
  Type.Union(
    words.map((word) => Type.Literal(word)),
    { expected: words.map((word) => `"${word}"`).join(' or ') },
  );

const RULE = object({
  domain_suffix: maybe(isTexts),
  ip_cidr: maybe(isTexts),
  protocol: maybe(is),
  action: is,
  send_from: maybe(is),
});

const API = object({
  enabled: maybe(isFlag),
  bind: maybe(is),
  token: maybe(is),
  webpath: maybe(is),
  username: maybe(is),
  password_hash: maybe(is),
});

const FLAT = object({
  mode: Type.Literal('server', { expected: '"server"' }),
  listen: addresses,
  log_level: maybe(is),
  bind_ip: maybe(is),
  debug: maybe(isFlag),
  api: maybe(API),
  outbound: maybe(
    object({
      enabled: isFlag,
      protocol: is,
      address: is,
      port,
      username: maybe(is),
      password: maybe(is),
      rules: maybe(Type.Array(RULE, { expected: 'an array of rules' })),
      default_action: maybe(is),
    }),
  ),
  fallback: maybe(object({ enabled: maybe(isFlag), listen: maybe(is), target: maybe(is) })),
  transport: maybe(object({})),
});

const LIST = object({ name: is, url: is, enabled: maybe(isFlag) });
const REWRITE = object({ domain: is, answer: is });

const DNS = object({
  enabled: maybe(isFlag),
  intercept_all_port53: maybe(isFlag),
  upstreams: maybe(isTexts),
  upstream_mode: maybe(oneOf(['fallback', 'parallel'])),
  cache_size: maybe(number),
  cache_min_ttl: maybe(number),
  cache_max_ttl: maybe(number),
  blocking_mode: maybe(oneOf(['nxdomain', 'null_ip', 'refused'])),
  blocked_ttl: maybe(number),
  lists: maybe(Type.Array(LIST, { expected: 'an array of lists' })),
  allowlists: maybe(Type.Array(LIST, { expected: 'an array of lists' })),
  update_interval_hours: maybe(number),
  user_rules: maybe(isTexts),
  rewrites: maybe(Type.Array(REWRITE, { expected: 'an array of names with answers' })),
  safe_search: maybe(isFlag),
  block_doh_bypass: maybe(isFlag),
  blocked_services: maybe(isTexts),
  query_log_size: maybe(number),
  doh_upstream: maybe(is),
  adblock_urls: maybe(isTexts),
  custom_domains: maybe(Type.Record(Type.String(), is, { expected: 'an object of texts' })),
  local_port: maybe(port),
});

const PUBLISHED = object({
  config_version: maybe(number),
  domain: maybe(is),
  api: maybe(API),
  dns: maybe(DNS),
  tls: maybe(
    object({
      enabled: maybe(isFlag),
      frontend: maybe(is),
      ws_path: maybe(is),
      cert: maybe(is),
      cert_path: maybe(is),
      key_path: maybe(is),
      acme: maybe(
        object({
          email: maybe(is),
          staging: maybe(isFlag),
          directory: maybe(is),
          responder: maybe(is),
          renew_days_before: maybe(number),
        }),
      ),
      https_listen: maybe(addresses),
      http_listen: maybe(addresses),
      public_port: maybe(port),
      reload_command: maybe(is),
    }),
  ),
  subscription: maybe(
    object({
      enabled: maybe(isFlag),
      path: maybe(is),
      name: maybe(is),
      update_interval_hours: maybe(number),
      include: maybe(isTexts),
    }),
  ),
});

type PublishedMembers = Static<typeof PUBLISHED>;

const OVERNET = object({
  overnet: maybe(
    object({
      enabled: maybe(isFlag),
      entry: maybe(isFlag),
      gateway: maybe(is),
      exit: maybe(isFlag),
      exit_listen: maybe(is),
    }),
  ),
  local_access: maybe(isFlag),
});

/** A value that has the right type and ends the start all the same. */
type Rule = readonly [place: string, isRight: (members: PublishedMembers) => boolean, expected: string];

const FRONTENDS = ['builtin', 'nginx', 'apache', 'caddy'];
const CERTIFICATES = ['acme', 'manual', 'none'];

const secure = ({ tls }: PublishedMembers) => (tls?.enabled === true ? tls : null);
const subscribed = ({ subscription }: PublishedMembers) => (subscription?.enabled === true ? subscription : null);
/** Servers behind that front end have no certificate of their own. */
const certificate = (members: PublishedMembers) => {
  const tls = secure(members);
  return tls === null || tls.frontend === 'caddy' ? null : (tls.cert ?? 'acme');
};
const isDomain = (name: string) =>
  name.length <= 253 && /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)+$/i.test(name);
const subscriptionPath = (members: PublishedMembers) => (subscribed(members)?.path ?? '').replace(/\/+$/, '') || '/sub';
const panelPath = ({ api }: PublishedMembers) => `/${(api?.webpath || 'panel').replace(/^\/+|\/+$/g, '')}`;
const isWithin = (path: string, other: string) => path === other || path.startsWith(`${other}/`);

const RULES: readonly Rule[] = [
  ['domain', ({ domain }) => !domain || isDomain(domain), 'a domain name'],
  ['tls.frontend', (all) => FRONTENDS.includes(secure(all)?.frontend ?? 'builtin'), FRONTENDS.join(', ')],
  [
    'tls.ws_path',
    (all) => secure(all) === null || /^\/[^?# ]{8,}$/.test(secure(all)?.ws_path ?? ''),
    'a path of at least 9 characters that begins with /',
  ],
  [
    'tls.ws_path',
    (all) => {
      const path = secure(all)?.ws_path;
      return path === undefined || !(path.startsWith('/.well-known/') || isWithin(path, panelPath(all)));
    },
    'a path that is neither below /.well-known/ nor below the panel',
  ],
  ['tls.cert', (all) => CERTIFICATES.includes(certificate(all) ?? 'none'), CERTIFICATES.join(', ')],
  ['domain', (all) => certificate(all) !== 'acme' || !!all.domain, 'a domain name, for which tls.cert "acme" asks'],
  [
    'tls.cert_path',
    (all) => certificate(all) !== 'manual' || (!!all.tls?.cert_path && !!all.tls.key_path),
    'both tls.cert_path and tls.key_path, for which tls.cert "manual" asks',
  ],
  ['subscription', (all) => subscribed(all) === null || secure(all) !== null, 'tls to be enabled with it'],
  ['subscription', (all) => subscribed(all) === null || !!all.domain, 'a domain beside it'],
  [
    'subscription.path',
    (all) => /^(\/[a-z\d_.~-]+)+$/i.test(subscriptionPath(all)) && !/^\/\.well-known/.test(subscriptionPath(all)),
    'a path such as /sub',
  ],
  [
    'subscription.path',
    (all) => {
      const path = subscriptionPath(all);
      const others = [secure(all)?.ws_path ?? '', panelPath(all)].filter((other) => other !== '');
      return subscribed(all) === null || !others.some((other) => isWithin(path, other) || isWithin(other, path));
    },
    'a path apart from tls.ws_path and from the panel',
  ],
  [
    'subscription.include',
    (all) => {
      const include = subscribed(all)?.include;
      return include === undefined || (include.length > 0 && include.every((one) => one === 'tls' || one === 'udp'));
    },
    '"tls", "udp" or both',
  ],
  [
    'dns.upstreams',
    ({ dns }) => dns?.enabled !== true || dns.upstreams?.length !== 0 || !!dns.doh_upstream,
    'at least one upstream',
  ],
  [
    'dns.upstreams',
    ({ dns }) =>
      [...(dns?.upstreams ?? []), ...(dns?.doh_upstream ? [dns.doh_upstream] : [])].every(
        (text) => upstreamPlace(text) !== null,
      ),
    'https://host/path, tls://host, tcp://address, udp://address or an address',
  ],
  [
    'dns.rewrites',
    ({ dns }) => {
      const custom = Object.entries(dns?.custom_domains ?? {}).map(([domain, answer]) => ({ domain, answer }));
      const all = [...(dns?.rewrites ?? []), ...custom];
      return all.every(({ domain, answer }) => domain.trim() !== '' && answer.trim() !== '');
    },
    'a domain and an answer in each',
  ],
  [
    'dns.blocked_services',
    ({ dns }) => (dns?.blocked_services ?? []).every((id) => SERVICES.some(([known]) => known === id)),
    SERVICES.map(([id]) => id).join(', '),
  ],
  [
    'dns.cache_min_ttl',
    ({ dns }) => (dns?.cache_min_ttl ?? 60n) <= (dns?.cache_max_ttl ?? 86_400n),
    'no more than dns.cache_max_ttl',
  ],
];

/** A flat file without the members that came later (schema 1). */
export const flatFile: ServerFileSchema = { configVersion: null, laterMembers: [], problem: problemIn([FLAT]) };

/** With a domain, TLS for clients and subscriptions, and the DNS settings of 0.4.6 (schema 2). */
export const flatFileWithDomain: ServerFileSchema = {
  configVersion: 2,
  laterMembers: ['domain', 'tls', 'subscription'],
  problem: problemIn([FLAT, PUBLISHED]),
};

/** With overnet, too (schema 3). */
export const flatFileWithOvernet: ServerFileSchema = {
  configVersion: 3,
  laterMembers: LATER_MEMBERS,
  problem: problemIn([FLAT, PUBLISHED, OVERNET]),
};

function problemIn(schemas: readonly TSchema[]): ServerFileSchema['problem'] {
  return (given) => {
    const members = withoutNulls(given);
    const mistyped = schemas.map((schema) => mistype(schema, members)).find((problem) => problem !== null);
    if (mistyped !== undefined) return mistyped;
    if (!schemas.includes(PUBLISHED)) return null;
    const published = checked(PUBLISHED, members, ROOT);
    const broken = RULES.find(([, isRight]) => !isRight(published));
    return broken === undefined ? null : `${broken[0]}: expected ${broken[2]}`;
  };
}

const ROOT = 'the root';

function mistype(schema: TSchema, members: JsonValue): string | null {
  try {
    checked(schema, members, ROOT);
    return null;
  } catch (error) {
    if (error instanceof SchemaError) return error.message;
    throw error;
  }
}

/** Every null member left out, at any depth. */
function withoutNulls<V extends JsonValue>(value: V): V;
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNulls(member)]));
}
