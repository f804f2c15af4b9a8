import { createHash } from 'node:crypto';
import { SERVICES } from '../../src/wire/dns-values.js';
import type { JsonObject, JsonValue } from '../../src/wire/json/json.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import {
  BodyRefused,
  defaulted,
  isFlag,
  isListOf,
  isOneOf,
  isText,
  isTextMap,
  isTexts,
  isU16,
  isU32,
  isUsize,
  type JsonBody,
  objectBody,
  optional,
  required,
  type Struct,
} from './body.js';
import {
  countRules,
  type DnsSettings,
  explain,
  foldOlder,
  PRESETS,
  upstreamLabel,
  upstreamRefusal,
} from './dns-rules.js';
import { linksOf } from './links.js';
import { type Asked, Failed, type Server } from './operations.js';
import { qrPicture } from './qr-picture.js';

/**
 * The operations that servers from 0.4.6 on have beside those of Keyway's own table, as they are read in their source
 * (../shared/lines-0.4.md, section 2).
 */
export interface LaterRoute {
  readonly method: string;
  /** Below the API root; `{key}` is the access key. */
  readonly path: string;
  isServed(server: Server): boolean;
  /** Reads the body, before anybody's credential is looked at. Throws `BodyRefused`. */
  readonly read?: (body: JsonBody) => JsonObject;
  answer(asked: Asked): Promise<string>;
}

const hasDns = ({ behaviour }: Server) => behaviour.later.hasDns;
const hasOvernet = ({ behaviour }: Server) => behaviour.later.hasOvernet;
const tellsServer = ({ behaviour }: Server) => behaviour.later.tellsServer;

export const LATER_ROUTES: readonly LaterRoute[] = [
  { method: 'GET', path: '/users/{key}/share', isServed: tellsServer, answer: share },
  {
    method: 'POST',
    path: '/qr',
    isServed: tellsServer,
    read: (body) => objectBody(body, QR),
    async answer({ body }) {
      const { text } = objectBody(body(), QR);
      if (Buffer.byteLength(String(text)) > 2048) throw new Failed('invalidBody', 'text too long for a QR code');
      return JSON.stringify(qrPicture(String(text)));
    },
  },
  { method: 'GET', path: '/dns/stats', isServed: hasDns, answer: async ({ server }) => encodeJson(dnsStats(server)) },
  {
    method: 'GET',
    path: '/dns/log',
    isServed: hasDns,
    async answer({ query }) {
      const limit = query.get('limit') ?? '200';
      const fault = limit === '' ? 'cannot parse integer from empty string' : 'invalid digit found in string';
      if (!/^\d+$/.test(limit)) throw new BodyRefused(400, `Failed to deserialize query string: limit: ${fault}`);
      return '[]';
    },
  },
  { method: 'DELETE', path: '/dns/log', isServed: hasDns, answer: async () => 'true' },
  {
    method: 'GET',
    path: '/dns/settings',
    isServed: hasDns,
    answer: async ({ server }) => encodeJson({ ...settingsOf(server) }),
  },
  {
    method: 'PUT',
    path: '/dns/settings',
    isServed: hasDns,
    read: (body) => objectBody(body, DNS),
    answer: putSettings,
  },
  {
    method: 'GET',
    path: '/dns/meta',
    isServed: hasDns,
    answer: async () => JSON.stringify({ presets: PRESETS, services: SERVICES }),
  },
  {
    method: 'POST',
    path: '/dns/update',
    isServed: hasDns,
    // It stands where no name can be looked up.
    answer: async ({ server }) => {
      const { lists, allowlists } = settingsOf(server);
      const used = [...lists, ...allowlists].filter(({ enabled }) => enabled);
      return JSON.stringify(used.map(({ name, url }) => ({ name, url, ok: false, detail: noName(url) })));
    },
  },
  {
    method: 'POST',
    path: '/dns/test',
    isServed: hasDns,
    read: (body) => objectBody(body, DNS_TEST),
    async answer({ server, body }) {
      const { domain } = objectBody(body(), DNS_TEST);
      return JSON.stringify(explain(settingsOf(server), String(domain)));
    },
  },
  {
    method: 'GET',
    path: '/overnet',
    isServed: hasOvernet,
    answer: async ({ server }) => encodeJson(overnetOf(server)),
  },
  {
    method: 'PUT',
    path: '/overnet',
    isServed: hasOvernet,
    read: (body) => objectBody(body, OVERNET),
    answer: putOvernet,
  },
];

const QR: Struct = { name: 'QrRequest', members: { text: required(isText) } };
const DNS_TEST: Struct = { name: 'DnsTest', members: { domain: required(isText) } };

const LIST: Struct = {
  name: 'FilterList',
  members: { name: required(isText), url: required(isText), enabled: defaulted(isFlag) },
  fewestElements: 2,
};

const DNS: Struct = {
  name: 'DnsSettings',
  fewestElements: 0,
  members: {
    enabled: defaulted(isFlag),
    intercept_all_port53: defaulted(isFlag),
    upstreams: defaulted(isTexts),
    upstream_mode: defaulted(isOneOf('fallback', 'parallel')),
    cache_size: defaulted(isUsize),
    cache_min_ttl: defaulted(isU32),
    cache_max_ttl: defaulted(isU32),
    blocking_mode: defaulted(isOneOf('nxdomain', 'null_ip', 'refused')),
    blocked_ttl: defaulted(isU32),
    lists: defaulted(isListOf(LIST)),
    allowlists: defaulted(isListOf(LIST)),
    update_interval_hours: defaulted(isU32),
    user_rules: defaulted(isTexts),
    rewrites: defaulted(isListOf({ name: 'Rewrite', members: { domain: required(isText), answer: required(isText) } })),
    safe_search: defaulted(isFlag),
    block_doh_bypass: defaulted(isFlag),
    blocked_services: defaulted(isTexts),
    query_log_size: defaulted(isUsize),
    doh_upstream: optional(isText),
    adblock_urls: optional(isTexts),
    custom_domains: optional(isTextMap),
    local_port: optional(isU16),
  },
};

const [ADGUARD] = PRESETS;

const DNS_DEFAULTS: DnsSettings = {
  enabled: false,
  intercept_all_port53: false,
  upstreams: ['https://cloudflare-dns.com/dns-query', 'https://dns.google/dns-query'],
  upstream_mode: 'fallback',
  cache_size: 10_000n,
  cache_min_ttl: 60n,
  cache_max_ttl: 86_400n,
  blocking_mode: 'nxdomain',
  blocked_ttl: 300n,
  lists: [{ name: ADGUARD[1], url: ADGUARD[2], enabled: true }],
  allowlists: [],
  update_interval_hours: 24n,
  user_rules: [],
  rewrites: [],
  safe_search: false,
  block_doh_bypass: true,
  blocked_services: [],
  query_log_size: 1000n,
};

const OVERNET: Struct = {
  name: 'OvernetConfig',
  fewestElements: 0,
  members: {
    enabled: defaulted(isFlag),
    entry: defaulted(isFlag),
    gateway: defaulted(isText),
    exit: defaulted(isFlag),
    exit_listen: defaulted(isText),
  },
};

const OVERNET_DEFAULTS = {
  enabled: false,
  entry: true,
  gateway: '127.0.0.1:9150',
  exit: false,
  exit_listen: '127.0.0.1:9151',
};

const noName = (url: string) =>
  `error sending request for url (${url}): client error (Connect): dns error: failed to lookup address information: Name or service not known`;

/** The members that are known, an absent one by its default. What the file or a body has was read before. */
function complete<T extends object>(defaults: T, given: JsonValue | undefined): T {
  const said = Object(given ?? {});
  return Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, said[name] ?? value])) as T;
}

function settingsIn(given: JsonValue | undefined): DnsSettings {
  const { lists, allowlists, ...settings } = foldOlder(complete(DNS_DEFAULTS, given), Object(given ?? {}));
  const used = (list: DnsSettings['lists']) => list.map(({ name, url, enabled = true }) => ({ name, url, enabled }));
  return { ...settings, lists: used(lists), allowlists: used(allowlists) };
}

function settingsOf({ memory }: Server): DnsSettings {
  memory.sections.dns ??= settingsIn(memory.start.root.dns);
  return memory.sections.dns;
}

/** What is absent is its default afterwards: the settings are replaced. */
async function putSettings({ server, body }: Asked): Promise<string> {
  const settings = settingsIn(objectBody(body(), DNS));
  const { enabled, upstreams, rewrites, blocked_services: services } = settings;
  const refuse = (words: string): never => {
    throw new Failed('invalidBody', words);
  };
  if (enabled && upstreams.length === 0) refuse('dns.upstreams must name at least one upstream resolver');
  for (const upstream of upstreams) {
    const refusal = upstreamRefusal(upstream);
    if (refusal !== null) refuse(refusal);
  }
  if (rewrites.some(({ domain, answer }) => domain.trim() === '' || answer.trim() === ''))
    refuse('dns.rewrites entries need both a domain and an answer');
  const unknown = services.find((id) => !SERVICES.some(([known]) => known === id));
  if (unknown !== undefined) refuse(`dns.blocked_services: unknown service "${unknown}" (ostp dns service list)`);
  if (settings.cache_min_ttl > settings.cache_max_ttl) refuse('dns.cache_min_ttl is larger than dns.cache_max_ttl');
  server.memory.sections.dns = settings;
  await stored(server, 'dns', { ...settings });
  return 'true';
}

async function putOvernet({ server, body }: Asked): Promise<string> {
  const overnet = complete(OVERNET_DEFAULTS, objectBody(body(), OVERNET));
  for (const member of ['gateway', 'exit_listen'] as const)
    if (!/^(?:[\d.]+|\[[\da-f.:]+\]):\d+$/.test(overnet[member]))
      throw new Failed(
        'invalidBody',
        `overnet.${member} '${overnet[member]}' is not an ip:port (invalid socket address syntax)`,
      );
  if (!/^(?:127\.|\[::1\])/.test(overnet.exit_listen))
    throw new Failed(
      'invalidBody',
      `overnet.exit_listen must be a loopback address, not ${overnet.exit_listen}: the exit has no authentication`,
    );
  server.memory.sections.overnet = overnet;
  await stored(server, 'overnet', overnet);
  return encodeJson(overnetOf(server));
}

async function stored({ file }: Server, member: string, value: JsonValue): Promise<void> {
  await file.saveMemberWithBackup([member], value).catch((error: Error) => {
    throw new Failed('invalidBody', `applied, but config.json was not written: ${error.message}`);
  });
}

function overnetOf({ memory }: Server) {
  memory.sections.overnet ??= complete(OVERNET_DEFAULTS, memory.start.root.overnet);
  return { config: memory.sections.overnet, serving: false, gateway_up: null, exit_listening: null };
}

function dnsStats(server: Server) {
  const { enabled, upstreams, lists: blocking, allowlists, user_rules: own } = settingsOf(server);
  const fetched = [...blocking, ...allowlists].filter((list) => list.enabled);
  const lists = [
    ...fetched.map(({ name }) => ({ name, rules: 0n, unsupported: 0n })),
    { name: 'user rules', ...countRules(own) },
  ];
  const rules = lists.reduce((sum, list) => sum + list.rules, 0n);
  const none = { total: 0n, blocked: 0n, rewritten: 0n, cached: 0n, failed: 0n, avg_upstream_ms: null, rules, lists };
  const tops = { top_domains: [], top_blocked: [], top_clients: [] };
  return { enabled, since_seconds: 0n, ...none, upstreams: upstreams.map(upstreamLabel), ...tops };
}

/** The links of a key, each with the name of its user. */
async function share({ server, key }: Asked): Promise<string> {
  const known = server.memory.snapshot(key);
  if (known === undefined) throw new Failed('userNotFound');
  const { tls, udp } = linksOf(server, key);
  const { tls: place, prefix, domain } = server.memory.start.published;
  const host = known.name || server.announced.host;
  const named = (link: string, carrier: string) => `${link}&name=${encodeURIComponent(`${host} · ${carrier}`)}`;
  const port = place === null || place.port === 443 ? '' : `:${place.port}`;
  const token = createHash('sha256').update(`ostp-subscription:${key}`).digest('hex').slice(0, 32);
  return JSON.stringify({
    tls: tls === null ? null : named(tls, 'TLS'),
    udp: named(udp, 'UDP'),
    subscription: prefix === null ? null : `https://${domain}${port}${prefix}/${token}`,
  });
}
