import { createHash } from 'node:crypto';
import { SERVICE_IDS } from '../../src/wire/dns-values.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/wire/json/json.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { BodyRefused, isFlag, isText, isTexts, isU64, type JsonBody, type MemberShape, objectBody } from './body.js';
import { linksOf } from './links.js';
import { type Asked, Failed, type Server } from './operations.js';

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

const isAny: MemberShape = { expected: 'a value', fits: () => true };

export const LATER_ROUTES: readonly LaterRoute[] = [
  { method: 'GET', path: '/users/{key}/share', isServed: tellsServer, answer: share },
  {
    method: 'POST',
    path: '/qr',
    isServed: tellsServer,
    read: (body) => objectBody(body, 'QrRequest', { text: isText }),
    async answer({ body }) {
      const { text } = objectBody(body(), 'QrRequest', { text: isText });
      if (Buffer.byteLength(String(text)) > 2048) throw new Failed('invalidBody', 'text too long for a QR code');
      return JSON.stringify('<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240"></svg>');
    },
  },
  { method: 'GET', path: '/dns/stats', isServed: hasDns, answer: async ({ server }) => encodeJson(dnsStats(server)) },
  {
    method: 'GET',
    path: '/dns/log',
    isServed: hasDns,
    async answer({ query }) {
      if (!/^\d+$/.test(query.get('limit') ?? '200'))
        throw new BodyRefused(400, 'Failed to deserialize query string: limit: invalid digit found in string');
      return '[]';
    },
  },
  { method: 'DELETE', path: '/dns/log', isServed: hasDns, answer: async () => 'true' },
  {
    method: 'GET',
    path: '/dns/settings',
    isServed: hasDns,
    answer: async ({ server }) => encodeJson(settingsOf(server)),
  },
  {
    method: 'PUT',
    path: '/dns/settings',
    isServed: hasDns,
    read: (body) => objectBody(body, 'DnsSettings', {}, DNS_MEMBERS),
    answer: putSettings,
  },
  {
    method: 'GET',
    path: '/dns/meta',
    isServed: hasDns,
    answer: async () =>
      JSON.stringify({ presets: [['adguard', 'AdGuard', 'https://lists.example/adguard.txt']], services: [] }),
  },
  { method: 'POST', path: '/dns/update', isServed: hasDns, answer: async () => '[]' },
  {
    method: 'POST',
    path: '/dns/test',
    isServed: hasDns,
    read: (body) => objectBody(body, 'DnsTest', { domain: isText }),
    async answer({ server, body }) {
      const { domain } = objectBody(body(), 'DnsTest', { domain: isText });
      const { rewrites } = settingsOf(server);
      const isOwn = Array.isArray(rewrites) && rewrites.some((each) => isJsonObject(each) && each.domain === domain);
      return JSON.stringify({ name: domain, outcome: isOwn ? 'rewritten' : 'forwarded', detail: '' });
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
    read: (body) => objectBody(body, 'Overnet', {}, OVERNET_MEMBERS),
    answer: putOvernet,
  },
];

const DNS_MEMBERS: Readonly<Record<string, MemberShape>> = {
  enabled: isFlag,
  intercept_all_port53: isFlag,
  upstreams: isTexts,
  upstream_mode: isText,
  cache_size: isU64,
  cache_min_ttl: isU64,
  cache_max_ttl: isU64,
  blocking_mode: isText,
  blocked_ttl: isU64,
  lists: isAny,
  allowlists: isAny,
  update_interval_hours: isU64,
  user_rules: isTexts,
  rewrites: isAny,
  safe_search: isFlag,
  block_doh_bypass: isFlag,
  blocked_services: isTexts,
  query_log_size: isU64,
};

const DNS_DEFAULTS: JsonObject = {
  enabled: false,
  intercept_all_port53: false,
  upstreams: ['https://cloudflare-dns.com/dns-query', 'https://dns.google/dns-query'],
  upstream_mode: 'fallback',
  cache_size: 10_000n,
  cache_min_ttl: 60n,
  cache_max_ttl: 86_400n,
  blocking_mode: 'nxdomain',
  blocked_ttl: 300n,
  lists: [{ name: 'AdGuard', url: 'https://lists.example/adguard.txt', enabled: true }],
  allowlists: [],
  update_interval_hours: 24n,
  user_rules: [],
  rewrites: [],
  safe_search: false,
  block_doh_bypass: true,
  blocked_services: [],
  query_log_size: 1000n,
};

const OVERNET_MEMBERS: Readonly<Record<string, MemberShape>> = {
  enabled: isFlag,
  entry: isFlag,
  gateway: isText,
  exit: isFlag,
  exit_listen: isText,
};

const OVERNET_DEFAULTS: JsonObject = {
  enabled: false,
  entry: true,
  gateway: '127.0.0.1:9150',
  exit: false,
  exit_listen: '127.0.0.1:9151',
};

/** The members that are known, an absent one by its default. */
function complete(defaults: JsonObject, given: JsonValue | undefined): JsonObject {
  const said = isJsonObject(given) ? given : {};
  return Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, said[name] ?? value]));
}

function settingsOf({ memory }: Server): JsonObject {
  memory.sections.dns ??= complete(DNS_DEFAULTS, memory.start.root.dns);
  return memory.sections.dns;
}

/** What is absent is its default afterwards: the settings are replaced. */
async function putSettings({ server, body }: Asked): Promise<string> {
  const settings = complete(DNS_DEFAULTS, objectBody(body(), 'DnsSettings', {}, DNS_MEMBERS));
  const { upstreams, rewrites, blocked_services: services, cache_min_ttl: least, cache_max_ttl: most } = settings;
  if (Array.isArray(upstreams) && upstreams.length === 0)
    throw new Failed('invalidBody', 'dns.upstreams must name at least one upstream resolver');
  if (Array.isArray(rewrites) && rewrites.some((each) => isJsonObject(each) && (!each.domain || !each.answer)))
    throw new Failed('invalidBody', 'dns.rewrites entries need both a domain and an answer');
  const unknown = Array.isArray(services) ? services.find((id) => !SERVICE_IDS.includes(String(id))) : undefined;
  if (unknown !== undefined)
    throw new Failed('invalidBody', `dns.blocked_services: unknown service "${unknown}" (ostp dns service list)`);
  if (typeof least === 'bigint' && typeof most === 'bigint' && least > most)
    throw new Failed('invalidBody', 'dns.cache_min_ttl is larger than dns.cache_max_ttl');
  server.memory.sections.dns = settings;
  await stored(server, 'dns', settings);
  return 'true';
}

async function putOvernet({ server, body }: Asked): Promise<string> {
  const overnet = complete(OVERNET_DEFAULTS, objectBody(body(), 'Overnet', {}, OVERNET_MEMBERS));
  for (const member of ['gateway', 'exit_listen'])
    if (!/^[\d.]+:\d+$/.test(String(overnet[member])))
      throw new Failed(
        'invalidBody',
        `overnet.${member} '${overnet[member]}' is not an ip:port (invalid socket address syntax)`,
      );
  const [host = ''] = String(overnet.exit_listen).split(':');
  if (!host.startsWith('127.'))
    throw new Failed(
      'invalidBody',
      `overnet.exit_listen must be a loopback address, not ${host}: the exit has no authentication`,
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

function dnsStats(server: Server): JsonObject {
  const { enabled = false, upstreams = [], user_rules: own = [] } = settingsOf(server);
  const rules = BigInt(Array.isArray(own) ? own.length : 0);
  const none = { total: 0n, blocked: 0n, rewritten: 0n, cached: 0n, failed: 0n, avg_upstream_ms: null, rules };
  const lists = [{ name: 'user rules', rules, unsupported: 0n }];
  return { enabled, since_seconds: 0n, ...none, lists, upstreams, top_domains: [], top_blocked: [], top_clients: [] };
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
