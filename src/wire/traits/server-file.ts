import { isIP } from 'node:net';
import gte from 'semver/functions/gte.js';
import { MAX_U64 } from '../../core/model.js';
import { withoutEnd, withoutOuterSlashes } from '../text-ends.js';

/**
 * A value that servers accept, by the types of their own reader (serde): a value of another type makes their start
 * fail. Unnamed members are skipped.
 */
export type FileType =
  | 'anything'
  | 'text'
  | 'flag'
  /** The keys of a list, and the member that holds the key in an element that is an object; at least one key. */
  | { readonly keys: string; readonly plainAlone: boolean }
  | { readonly integerTo: bigint }
  | { readonly words: readonly string[] }
  | { readonly either: readonly FileType[]; readonly expected: string }
  | { readonly elements: FileType; readonly count?: number }
  /** An object with arbitrary names. */
  | { readonly named: FileType }
  | { readonly members: FileMembers }
  /** An object whose other members depend on its `protocol`. */
  | { readonly protocols: Readonly<Record<string, FileMembers>> }
  /** Read through a map, in which the last of several equal members counts; elsewhere two make the start fail. */
  | { readonly lastCounts: FileType };

export interface FileMember {
  readonly type: FileType;
  readonly mayLack: boolean;
  readonly mayBeNull: boolean;
}

/** In the order that their values have in an array in place of the object. */
export type FileMembers = Readonly<Record<string, FileMember>>;

/** The members of a root that have the right types. Places have the form `tls.ws_path`. */
export interface GivenMembers {
  text(place: string): string | null;
  isOn(place: string): boolean;
  /** Returns the texts of a list, or the one in its place; null if it is absent. */
  texts(place: string): readonly string[] | null;
  /** Returns the objects of a list in the root. */
  elements(place: string): readonly GivenMembers[];
}

/** A rule that a value of the right type must keep, too, or the start fails. */
export interface FileRule {
  readonly place: string;
  readonly expected: string;
  isKept(given: GivenMembers): boolean;
}

/** How servers of a line read their configuration file: evidence in `fixtures/starts/`. */
export interface ServerFile {
  readonly name: string;
  /** The place where these servers look for keys. */
  readonly layout: 'access_keys' | 'inbounds';
  readonly root: FileType;
  readonly rules: readonly FileRule[];
  /** The number in `config_version` of such a file; null if it has none. */
  readonly configVersion: number | null;
  /** The members that these servers read and older ones ignore. */
  readonly laterMembers: readonly string[];
  /** True if these servers serve no API without a credential to sign in with. */
  readonly wantsCredential: boolean;
  /** True if a `password_hash` of PBKDF2 admits somebody there. */
  readonly readsPbkdf2: boolean;
  /**
   * The first version whose live reload reads both a legacy key list and the inbounds; null for servers that know no
   * inbounds.
   */
  readonly unionSince: string | null;
}

/**
 * How a live reload reads a legacy key list (a root `access_keys` in a file that also has inbounds). `list only`:
 * instead of the inbounds, so that every key must be in both; `union`: in addition to them, an inbound's element
 * winning, so that a removed key must leave both.
 */
export type LegacyListReading = 'list only' | 'union';

/** Returns how servers of a version read a legacy key list; null for servers that know no inbounds. */
export function legacyListReading({ unionSince }: ServerFile, version: string): LegacyListReading | null {
  if (unionSince === null) return null;
  return gte(version, unionSince) ? 'union' : 'list only';
}

/** A server that may read the file that Keyway serves. */
export interface FileServer {
  readonly version: string;
  readonly file: ServerFile;
}

/** Returns how the oldest of these servers reads a legacy key list. A version that knows no inbounds does not count. */
export function oldestReading(servers: readonly FileServer[]): LegacyListReading {
  const read = servers.map(({ file, version }) => legacyListReading(file, version));
  return read.includes('list only') ? 'list only' : 'union';
}

/** Lists the members that a `dns` object must have for these servers to start. */
export function neededOfDns(servers: readonly Pick<FileServer, 'file'>[]): readonly string[] {
  const needed = servers.flatMap(({ file }) => {
    return Object.entries(membersOf(membersOf(file.root).dns?.type)).filter(([, { mayLack }]) => !mayLack);
  });
  return [...new Set(needed.map(([name]) => name))];
}

/** Tells whether these servers read the member at a place such as `api.token` or `outbound.rules[].protocol`. */
export function readsPlace({ root }: Pick<ServerFile, 'root'>, place: string): boolean {
  let type: FileType | undefined = root;
  for (const step of place.split('.')) {
    const found: FileType | undefined = membersOf(type)[step.replace('[]', '')]?.type;
    type = typeof found === 'object' && 'elements' in found ? found.elements : found;
  }
  return type !== undefined;
}

/** Tells whether these servers read a member of `api`; those of an inbound read what later ones do. */
export function readsOfApi(file: Pick<ServerFile, 'root' | 'layout'>, member: string): boolean {
  return file.layout === 'inbounds' || readsPlace(file, `api.${member}`);
}

function membersOf(type: FileType | undefined): FileMembers {
  if (typeof type !== 'object') return {};
  if ('lastCounts' in type) return membersOf(type.lastCounts);
  return 'members' in type ? type.members : {};
}

/**
 * Tells whether keys must be plain strings, so that an element with a name or a limit makes a start and every live
 * reload fail.
 */
export function takesPlainKeysAlone(file: ServerFile): boolean {
  const type = rootListType(file);
  return typeof type === 'object' && 'keys' in type && type.plainAlone;
}

/** Returns the type of a root `access_keys`; servers that know inbounds do not read it at their start. */
export function rootListType({ root }: ServerFile): FileType {
  return membersOf(root).access_keys?.type ?? 'anything';
}

/** The root members that came with 0.4.6 and 0.4.7, which earlier servers ignore. */
export const LATER_MEMBERS: readonly string[] = ['domain', 'tls', 'subscription', 'overnet', 'local_access'];

const required = (type: FileType): FileMember => ({ type, mayLack: false, mayBeNull: false });
const optional = (type: FileType): FileMember => ({ type, mayLack: true, mayBeNull: true });
/** Describes a member with a default for its absence; null is a value of the wrong type. */
const defaulted = (type: FileType): FileMember => ({ type, mayLack: true, mayBeNull: false });

const port: FileType = { integerTo: 65_535n };
const u8: FileType = { integerTo: 255n };
const u32: FileType = { integerTo: 2n ** 32n - 1n };
const u64: FileType = { integerTo: MAX_U64 };
const texts: FileType = { elements: 'text' };
const addresses: FileType = { either: ['text', texts], expected: 'a string or an array of strings' };
const isServer = required({ words: ['server'] });

const API: FileMembers = { enabled: optional('flag'), bind: optional('text') };
const LOGIN: FileMembers = {
  webpath: optional('text'),
  username: optional('text'),
  password_hash: optional('text'),
};
const apiWithToken: FileMembers = { ...API, token: optional('text') };

const CONDITIONS: FileMembers = { domain_suffix: optional(texts), ip_cidr: optional(texts) };
const ruleOfThree: FileMembers = { ...CONDITIONS, action: optional('text') };
const ruleWithProtocol: FileMembers = { ...CONDITIONS, protocol: optional('text'), action: optional('text') };

const outboundWith = (rule: FileMembers, others: FileMembers = {}) =>
  optional({
    members: {
      enabled: required('flag'),
      protocol: required('text'),
      address: required('text'),
      port: required(port),
      ...others,
      rules: defaulted({ elements: { members: rule } }),
      default_action: optional('text'),
    },
  });

const REALITY: FileMember = optional({
  members: {
    enabled: defaulted('flag'),
    dest: required('text'),
    private_key: required('text'),
    pbk: required('text'),
    sid: required('text'),
    sni_list: required(texts),
  },
});

const TRANSPORT: FileMember = optional({
  members: { mode: optional('text'), stealth_sni: optional('text'), stealth_port: optional(port) },
});

const dnsWith = (others: FileMembers) =>
  ({
    enabled: required('flag'),
    ...others,
    doh_upstream: required('text'),
    adblock_urls: required(texts),
    custom_domains: required({ named: 'text' }),
  }) satisfies FileMembers;
const dnsOfFour = dnsWith({});
const dnsOfSix = dnsWith({ intercept_all_port53: defaulted('flag'), local_port: defaulted(port) });

/** 0.2.0 to 0.2.30, according to their source (inferred). */
const OLDEST: FileMembers = {
  mode: isServer,
  log_level: optional('text'),
  listen: required(addresses),
  access_keys: required({ keys: 'access_key', plainAlone: true }),
  turn_server: optional('text'),
  debug: optional('flag'),
  outbound: outboundWith(ruleOfThree),
  api: optional({ members: apiWithToken }),
  fallback: optional({ members: { enabled: optional('flag'), listen: optional('text'), target: optional('text') } }),
};

const { turn_server: _, ...NAMED_KEYS }: FileMembers = {
  ...OLDEST,
  access_keys: required({ keys: 'access_key', plainAlone: false }),
  transport: TRANSPORT,
};

function isSocketAddress(text: string): boolean {
  const [, v4, v6, number = ''] = /^(?:([\d.]+)|\[([\da-f.:]+)(?:%\d+)?\]):(\d+)$/i.exec(text) ?? [];
  return isIP(v4 ?? v6 ?? '') === (v4 === undefined ? 6 : 4) && Number(number) <= 65_535;
}

const ADDRESS = 'an IP address with a port, such as 0.0.0.0:50000 or [::]:50000';

const LISTEN: readonly FileRule[] = [
  { place: 'listen', expected: 'at least one address', isKept: ({ texts }) => texts('listen')?.length !== 0 },
  { place: 'listen', expected: ADDRESS, isKept: ({ texts }) => (texts('listen') ?? []).every(isSocketAddress) },
  {
    place: 'listen',
    expected: 'each address once',
    isKept({ texts }) {
      const all = (texts('listen') ?? []).filter((address) => !/:0+$/.test(address));
      return new Set(all).size === all.length;
    },
  },
];

const flat = (name: string, members: FileMembers): ServerFile => ({
  name,
  layout: 'access_keys',
  root: { members },
  rules: LISTEN,
  configVersion: null,
  laterMembers: [],
  wantsCredential: false,
  readsPbkdf2: false,
  unionSince: null,
});

/** Keys are plain strings. */
export const plainKeysFile = flat('access_keys, plain', OLDEST);

/** Keys with names and limits. */
export const namedKeysFile = flat('access_keys', { ...NAMED_KEYS, reality: REALITY });

/** An `api` with a login and without a token. */
export const loginFile = flat('access_keys, login', {
  ...NAMED_KEYS,
  reality: REALITY,
  api: optional({ members: { ...API, ...LOGIN } }),
});

/** The same with `dns`. */
export const dnsFile = flat('access_keys, login, dns', {
  ...NAMED_KEYS,
  reality: REALITY,
  api: optional({ members: { ...API, ...LOGIN } }),
  dns: optional({ members: dnsOfFour }),
});

const WITH_TOKEN: FileMembers = { ...NAMED_KEYS, api: optional({ members: { ...apiWithToken, ...LOGIN } }) };

/** The same with a token again. */
export const tokenAndDnsFile = flat('access_keys, token, dns', {
  ...WITH_TOKEN,
  reality: REALITY,
  dns: optional({ members: dnsOfFour }),
});

/** The same with six members of `dns`. */
export const largerDnsFile = flat('access_keys, token, larger dns', {
  ...WITH_TOKEN,
  reality: REALITY,
  dns: optional({ members: dnsOfSix }),
});

/** The same without `reality`, rules with a protocol. */
export const protocolRulesFile = flat('access_keys, token, larger dns, protocol of rules', {
  ...WITH_TOKEN,
  outbound: outboundWith(ruleWithProtocol),
  dns: optional({ members: dnsOfSix }),
});

const PLACED: FileMembers = { tag: required('text'), listen: required('text'), port: required(port) };
const SOCKS: FileMembers = { tag: required('text'), server: required('text'), port: required(port) };

const INBOUNDS: FileMembers = {
  mode: isServer,
  inbounds: required({
    elements: {
      protocols: {
        ostp: {
          ...PLACED,
          users: required({ keys: 'key', plainAlone: false }),
          fallback: optional({
            members: { enabled: required('flag'), listen: required('text'), target: required('text') },
          }),
          transport: optional({ members: { mode: optional('text'), stealth_sni: optional('text') } }),
        },
        api: { ...PLACED, token: optional('text'), ...LOGIN },
        dns: { listen: required('text'), domain: required('text') },
      },
    },
  }),
  outbounds: required({
    elements: {
      protocols: {
        socks5: SOCKS,
        socks: SOCKS,
        direct: { tag: required('text') },
        block: { tag: required('text') },
      },
    },
  }),
  routing: optional({
    members: {
      rules: defaulted({
        elements: {
          members: {
            ...CONDITIONS,
            protocol: optional('text'),
            outbound: required('text'),
          },
        },
      }),
      default_outbound: required('text'),
    },
  }),
  debug: optional('flag'),
  dns: optional({ members: dnsOfSix }),
};

const forKeys = ({ elements }: GivenMembers) => elements('inbounds').filter(({ text }) => text('protocol') === 'ostp');

/** Keys and listener under `inbounds`, in a file that is read through a map. */
export const inboundsFile: ServerFile = {
  ...flat('inbounds', {}),
  layout: 'inbounds',
  root: { lastCounts: { members: INBOUNDS } },
  rules: [
    { place: 'inbounds', expected: 'one with the protocol "ostp"', isKept: (given) => forKeys(given).length > 0 },
    {
      place: 'inbounds',
      expected: 'an IP address in "listen" of each with the protocol "ostp", an IPv6 address in brackets',
      isKept: (given) => forKeys(given).every(({ text }) => isSocketAddress(`${text('listen')}:1`)),
    },
  ],
  unionSince: '0.3.11',
};

const laterRule: FileMembers = { ...ruleWithProtocol, send_from: optional('text') };

const LATER_ROOT: FileMembers = {
  ...WITH_TOKEN,
  bind_ip: optional('text'),
  outbound: outboundWith(laterRule),
};

/** A root list again (0.4.0 to 0.4.5, according to their source). */
export const flatAgainFile: ServerFile = {
  ...flat('access_keys, send_from', {
    ...LATER_ROOT,
    transport: optional({ members: { mode: optional('text'), tcp_fragmentation: optional('flag') } }),
    dns: optional({ lastCounts: { members: dnsOfSix } }),
  }),
  laterMembers: ['send_from'],
};

const LIST: FileType = {
  members: { name: required('text'), url: required('text'), enabled: defaulted('flag') },
};

/** Every member has a default; the last four are those of older files. */
const DNS_ENGINE: FileMembers = {
  enabled: defaulted('flag'),
  intercept_all_port53: defaulted('flag'),
  upstreams: defaulted(texts),
  upstream_mode: defaulted({ words: ['fallback', 'parallel'] }),
  cache_size: defaulted(u64),
  cache_min_ttl: defaulted(u32),
  cache_max_ttl: defaulted(u32),
  blocking_mode: defaulted({ words: ['nxdomain', 'null_ip', 'refused'] }),
  blocked_ttl: defaulted(u32),
  lists: defaulted({ elements: LIST }),
  allowlists: defaulted({ elements: LIST }),
  update_interval_hours: defaulted(u32),
  user_rules: defaulted(texts),
  rewrites: defaulted({ elements: { members: { domain: required('text'), answer: required('text') } } }),
  safe_search: defaulted('flag'),
  block_doh_bypass: defaulted('flag'),
  blocked_services: defaulted(texts),
  query_log_size: defaulted(u64),
  doh_upstream: optional('text'),
  adblock_urls: optional(texts),
  custom_domains: optional({ named: 'text' }),
  local_port: optional(port),
};

const PUBLISHED: FileMembers = {
  ...LATER_ROOT,
  config_version: optional(u32),
  outbound: outboundWith(laterRule, { username: defaulted('text'), password: defaulted('text') }),
  transport: optional({
    members: {
      mode: optional('text'),
      tcp_fragmentation: optional('flag'),
      frag_chunk: optional(u64),
      frag_sleep: optional(u64),
      junk_pc: optional({ elements: u64, count: 2 }),
      junk_ps: optional({ elements: u64, count: 2 }),
      ttl_desync: optional('flag'),
      ttl_desync_ttl: optional(u8),
      ttl_desync_count: optional(u8),
      ttl_desync_auto: optional('flag'),
      tls: optional('flag'),
      tls_sni: optional('text'),
      tls_insecure: optional('flag'),
      ws_path: optional('text'),
    },
  }),
  dns: optional({ lastCounts: { members: DNS_ENGINE } }),
  domain: optional('text'),
  tls: optional({
    members: {
      enabled: optional('flag'),
      frontend: optional('text'),
      ws_path: optional('text'),
      cert: optional('text'),
      cert_path: optional('text'),
      key_path: optional('text'),
      acme: optional({
        members: {
          email: optional('text'),
          staging: optional('flag'),
          directory: optional('text'),
          responder: optional('text'),
          renew_days_before: optional(u32),
        },
      }),
      https_listen: optional(addresses),
      http_listen: optional(addresses),
      public_port: optional(port),
      reload_command: optional('text'),
    },
  }),
  subscription: optional({
    members: {
      enabled: optional('flag'),
      path: optional('text'),
      name: optional('text'),
      update_interval_hours: optional(u32),
      include: optional(texts),
    },
  }),
};

const FRONTENDS = ['builtin', 'nginx', 'apache', 'caddy'];
const CERTIFICATES = ['acme', 'manual', 'none'];

const isDomain = (name: string) =>
  name.length <= 253 && /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)+$/i.test(name);
const subscriptionPath = ({ text }: GivenMembers) => withoutEnd(text('subscription.path') ?? '', '/') || '/sub';
const panelPath = ({ text }: GivenMembers) => `/${withoutOuterSlashes(text('api.webpath') || 'panel')}`;
/** Patterns look for what is wrong in a path, because one that matches all of it runs out of stack at millions of characters. */
const isPlainPath = (path: string) =>
  path.startsWith('/') && !path.includes('//') && !path.endsWith('/') && !/[^a-z\d_.~/-]/i.test(path);
const isWithin = (path: string, other: string) => path === other || path.startsWith(`${other}/`);

/** Makes a rule that applies if TLS is enabled. */
const secure = (place: string, expected: string, isKept: (given: GivenMembers) => boolean): FileRule => ({
  place,
  expected,
  isKept: (given) => !given.isOn('tls.enabled') || isKept(given),
});

/** Servers behind that front end have no certificate of their own. */
const certificate = ({ text }: GivenMembers) =>
  text('tls.frontend') === 'caddy' ? 'none' : (text('tls.cert') ?? 'acme');

/** Makes a rule that applies if subscriptions are enabled. */
const subscribed = (place: string, expected: string, isKept: (given: GivenMembers) => boolean): FileRule => ({
  place,
  expected,
  isKept: (given) => !given.isOn('subscription.enabled') || isKept(given),
});

const PUBLISHED_RULES: readonly FileRule[] = [
  ...LISTEN,
  {
    place: 'domain',
    expected: 'a domain name',
    isKept: ({ text }) => !text('domain') || isDomain(text('domain') ?? ''),
  },
  secure('tls.frontend', FRONTENDS.join(', '), ({ text }) => FRONTENDS.includes(text('tls.frontend') ?? 'builtin')),
  secure('tls.ws_path', 'a path of at least 9 characters that begins with /', ({ text }) => {
    const path = text('tls.ws_path') ?? '';
    return path.length >= 9 && path.startsWith('/') && !/[?# ]/.test(path);
  }),
  secure('tls.ws_path', 'a path that is neither below /.well-known/ nor below the panel', (given) => {
    const path = given.text('tls.ws_path') ?? '';
    return !(path.startsWith('/.well-known/') || isWithin(path, panelPath(given)));
  }),
  secure('tls.cert', CERTIFICATES.join(', '), (given) => CERTIFICATES.includes(certificate(given))),
  secure(
    'domain',
    'a domain name, for which tls.cert "acme" asks',
    (given) => certificate(given) !== 'acme' || !!given.text('domain'),
  ),
  secure(
    'tls.cert_path',
    'both tls.cert_path and tls.key_path, for which tls.cert "manual" asks',
    (given) => certificate(given) !== 'manual' || (!!given.text('tls.cert_path') && !!given.text('tls.key_path')),
  ),
  subscribed('subscription', 'tls to be enabled with it', ({ isOn }) => isOn('tls.enabled')),
  subscribed('subscription', 'a domain with it', ({ text }) => !!text('domain')),
  subscribed(
    'subscription.path',
    'a path such as /sub',
    (given) => isPlainPath(subscriptionPath(given)) && !/^\/\.well-known/.test(subscriptionPath(given)),
  ),
  subscribed('subscription.path', 'a path apart from tls.ws_path and from the panel', (given) => {
    const path = subscriptionPath(given);
    const others = [given.text('tls.ws_path') ?? '', panelPath(given)].filter((other) => other !== '');
    return !others.some((other) => isWithin(path, other) || isWithin(other, path));
  }),
  subscribed('subscription.include', '"tls", "udp" or both', ({ texts }) => {
    const include = texts('subscription.include') ?? ['tls'];
    return include.length > 0 && include.every((one) => one === 'tls' || one === 'udp');
  }),
];

/** With a domain, TLS for clients, subscriptions, and the DNS settings of 0.4.6 (schema 2). */
export const domainFile: ServerFile = {
  ...flat('access_keys, config_version 2', PUBLISHED),
  rules: PUBLISHED_RULES,
  configVersion: 2,
  laterMembers: ['send_from', 'domain', 'tls', 'subscription'],
  wantsCredential: true,
};

const OVERNET: FileMembers = {
  enabled: defaulted('flag'),
  entry: defaulted('flag'),
  gateway: defaulted('text'),
  exit: defaulted('flag'),
  exit_listen: defaulted('text'),
};

/** With overnet, too (schema 3). */
export const overnetFile: ServerFile = {
  ...domainFile,
  name: 'access_keys, config_version 3',
  root: {
    members: {
      ...PUBLISHED,
      overnet: optional({ lastCounts: { members: OVERNET } }),
      local_access: defaulted('flag'),
    },
  },
  configVersion: 3,
  readsPbkdf2: true,
  laterMembers: ['send_from', ...LATER_MEMBERS],
};
