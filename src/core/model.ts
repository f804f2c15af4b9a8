/** The domain's nouns. Wire names and file layouts live elsewhere; see `wire/` and `document/`. */

/** The largest unsigned 64-bit integer; every limit and counter stays at or below it. */
export const MAX_U64 = 2n ** 64n - 1n;

/** An access key's record (protocol: "Access key (UserMeta)"). */
export interface AccessKey {
  readonly accessKey: string;
  readonly name: string | null;
  /** Bytes; null means no limit. */
  readonly limitBytes: bigint | null;
}

/** Traffic counters of one key (protocol: "Traffic counters"), all unsigned 64-bit. */
export interface TrafficCounters {
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  readonly connections: bigint;
  readonly limitBytes: bigint | null;
  /** Milliseconds since the epoch; kept through updates, never on the wire. */
  readonly createdAt: number;
}

/** A key seen from outside: its record with its counters (null if it has none). */
export interface KeySnapshot extends AccessKey {
  readonly counters: TrafficCounters | null;
}

export type OutboundAction = 'proxy' | 'direct' | 'block';

/** One outbound rule (design: "An outbound rule"). */
export interface OutboundRule {
  readonly domainSuffix: readonly string[];
  readonly ipCidr: readonly string[];
  readonly protocol: string | null;
  readonly action: OutboundAction;
  /**
   * The address of the server's machine from which such connections leave; null where none is wanted, which a file
   * says, left out where nothing is said.
   */
  readonly sendFrom?: string | null;
}

/** Outbound routing as configured; its presence is what "configured" means, whatever `enabled` says. */
export interface OutboundSettings {
  readonly enabled: boolean;
  /** `socks5` or `http`, as the file writes it; empty when absent. */
  readonly protocol: string;
  readonly address: string;
  readonly port: number;
  readonly defaultAction: OutboundAction;
  readonly rules: readonly OutboundRule[];
}

/** DNS settings; absent members of the file carry their defaults here. */
export interface DnsConfig {
  readonly enabled: boolean;
  readonly dohUpstream: string;
  readonly adblockUrls: readonly string[];
  /** Name to IPv4 or IPv6 address, in the file's order. */
  readonly customDomains: ReadonlyMap<string, string>;
  readonly localPort: number;
  readonly interceptAllPort53: boolean;
  /** The IP address on which the resolver listens. Stands in the file alone, like the two members after it. */
  readonly bind: string;
  readonly blockedAnswer: BlockedAnswer;
  /** The interval at which blocklists are fetched again. */
  readonly refreshHours: number;
  /**
   * The settings in the form of 0.4.6, which stand for upstream, blocklists, custom domains, blocked answer and
   * interval above; null where the file has the older form (design: "DNS settings").
   */
  readonly resolver: ResolverSettings | null;
}

/** The DNS settings that only the form of 0.4.6 has, or has in another way. */
export interface ResolverSettings {
  /** The addresses that `upstreamPlace` reads. */
  readonly upstreams: readonly string[];
  /** One after the other, the next where one fails, or all at once. */
  readonly upstreamMode: 'fallback' | 'parallel';
  /** The most cached answers; 0 for no cache. */
  readonly cacheSize: bigint;
  /** Bounds of the time for which an answer is cached, seconds. */
  readonly cacheMinTtl: number;
  readonly cacheMaxTtl: number;
  readonly blockingMode: 'nxdomain' | 'null_ip' | 'refused';
  /** Seconds for which clients may keep the answer for a blocked name. */
  readonly blockedTtl: number;
  readonly lists: readonly DnsList[];
  /** Names in them are never blocked. */
  readonly allowlists: readonly DnsList[];
  readonly updateIntervalHours: number;
  readonly userRules: readonly string[];
  readonly rewrites: readonly DnsRewrite[];
  readonly safeSearch: boolean;
  readonly blockDohBypass: boolean;
  readonly blockedServices: readonly string[];
  readonly queryLogSize: bigint;
}

export interface DnsList {
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
}

/** An own name, perhaps with `*.` before it, and its address or another name. */
export interface DnsRewrite {
  readonly domain: string;
  readonly answer: string;
}

/** The answer for a blocked name: no such name, or the addresses `0.0.0.0` and `::`. */
export type BlockedAnswer = 'nxdomain' | 'zero';

/** Members of the DNS settings to replace; an absent one keeps its present value. */
export type DnsChange = Partial<DnsConfig>;

export const DEFAULT_DNS: DnsConfig = {
  enabled: false,
  dohUpstream: 'https://cloudflare-dns.com/dns-query',
  adblockUrls: [],
  customDomains: new Map(),
  localPort: 50053,
  interceptAllPort53: false,
  bind: '127.0.0.1',
  blockedAnswer: 'nxdomain',
  refreshHours: 24,
  resolver: null,
};

/** One line of the DNS query log; `timestamp` is in seconds since the epoch. */
export interface DnsQuery {
  readonly timestamp: number;
  readonly domain: string;
  readonly clientIp: string;
  readonly blocked: boolean;
  /** True if the answer was SERVFAIL because no upstream could be asked; absent if unknown. */
  readonly failed?: boolean;
}

/** The outcome of a question to the resolver. */
export type DnsOutcome = 'allowed' | 'blocked' | 'cached' | 'failed' | 'rewritten';

/** One question to the resolver, as told from 0.4.6 on. */
export interface DnsLogEntry {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly client: string;
  readonly name: string;
  /** The type, such as `AAAA`, or `TYPE65` for one without a name. */
  readonly type: string;
  readonly outcome: DnsOutcome;
  /** The rule that blocked or allowed the name, and where it stands; null for none. */
  readonly rule: string | null;
  readonly source: string | null;
  /** The upstream that answered, or null. */
  readonly upstream: string | null;
  readonly elapsed: number;
}

/** The figures of the resolver since its start, or since its log was cleared. */
export interface DnsFigures {
  readonly enabled: boolean;
  /** Whole seconds. */
  readonly since: number;
  readonly total: number;
  readonly blocked: number;
  readonly rewritten: number;
  readonly cached: number;
  readonly failed: number;
  /** Milliseconds that upstreams took; null if no upstream was asked. */
  readonly averageUpstream: number | null;
  /** The last one holds the user's own rules. */
  readonly lists: readonly { readonly name: string; readonly rules: number; readonly unsupported: number }[];
  readonly upstreams: readonly string[];
  /** The names and clients that were seen most, with their numbers. */
  readonly topNames: readonly TopEntry[];
  readonly topBlocked: readonly TopEntry[];
  readonly topClients: readonly TopEntry[];
}

export type TopEntry = readonly [text: string, count: number];

/** The answer that a name would get. */
export interface DnsExplanation extends Pick<DnsLogEntry, 'name' | 'outcome' | 'rule' | 'source'> {
  readonly detail: string;
}

/** The state of the resolver and of its lists, as an operator watches it. */
export interface ResolverState {
  /** Why nobody is answered here: switched off, its port not open, or no resolver started in this Keyway. Null where it answers. */
  readonly idle: 'off' | 'waiting' | 'none' | null;
  readonly isRefreshing: boolean;
  /** Milliseconds since the epoch at which the last refresh ended; null before the first. */
  readonly refreshedAt: number | null;
  /** Those of the settings, allowing ones last. */
  readonly lists: readonly ListInUse[];
  /** Null where none are counted. */
  readonly today: QuestionsOfDay | null;
}

/** A list of the settings, with what is known of its content. */
export interface ListInUse extends DnsList {
  readonly isAllowing: boolean;
  /** Null while it has no content. */
  readonly names: number | null;
  /** Milliseconds since the epoch at which its content arrived; null while it has none. */
  readonly fetchedAt: number | null;
  /** Why the last refresh kept its old content, or why it is skipped; null otherwise. */
  readonly error: string | null;
}

/** The questions of a day in UTC, as far as they were counted. */
export interface QuestionsOfDay {
  /** Milliseconds since the epoch from which on they are counted: the day's beginning, or later. */
  readonly since: number;
  readonly questions: number;
  readonly blocked: number;
}

/** The outcome of the download of a list. */
export interface ListUpdate {
  readonly name: string;
  readonly url: string;
  readonly ok: boolean;
  readonly detail: string;
}

/**
 * Credentials that decide access. An absent `token` is null; an empty one is a configured token that nothing matches.
 */
export interface Credentials {
  readonly token: string | null;
  readonly username: string;
  /** Lowercase hexadecimal SHA-256 digest of the operator password, or empty. */
  readonly passwordHash: string;
}

/** The listener as the configuration file describes it (protocol: "Configuration of the listener"). */
export interface ListenerConfig extends Credentials {
  readonly enabled: boolean;
  /** `host:port`. */
  readonly bind: string;
  readonly webpath: string;
}

/** The default of the listener (protocol: "Configuration of the listener"). */
export const DEFAULT_BIND = '127.0.0.1:9090';

/** One entry of the audit list (protocol: "Audit entry"). */
export interface AuditEntry {
  readonly id: string;
  /** Local time of creation, `HH:MM:SS`. */
  readonly time: string;
  readonly eventEn: string;
  readonly eventRu: string;
  readonly success: boolean;
}

/** Everything that the gateway reads from a server's configuration file. */
export interface ServerConfiguration {
  /** The `mode` member when it is a string, else null. Only `server` is applied live. */
  readonly mode: string | null;
  /** In the file's order; of equal keys the first. */
  readonly keys: readonly AccessKey[];
  /** Null when the file describes no listener. */
  readonly listener: ListenerConfig | null;
  /** The tunnel server's own `listen` address (`host:port`), else null. */
  readonly listen: string | null;
  /** Null when outbound routing is not configured. */
  readonly outbound: OutboundSettings | null;
  readonly dns: DnsConfig;
  readonly published: Published;
  /** A sentence for each thing that was ignored (a duplicate key, a wrong type), naming its place. */
  readonly warnings: readonly string[];
}

/** A change that a key, rules or DNS operation makes to the configuration file. */
export interface ConfigurationChange {
  /** Per access key its new record, or null for removal. New keys are appended in the map's order. */
  readonly keys?: ReadonlyMap<string, AccessKey | null>;
  readonly rules?: readonly OutboundRule[];
  readonly dns?: DnsChange;
}

/**
 * The tunnel server as it is announced to clients: its address and the parts of a share link (protocol:
 * "Subscription").
 */
export interface AnnouncedServer {
  readonly host: string;
  readonly port: number;
  readonly shareScheme: string;
  /** The configured share-link query, written with its `?`; empty for none. */
  readonly shareQuery: string;
}

/** The server as Keyway announces it where nothing else is known. */
export const DEFAULT_ANNOUNCED: AnnouncedServer = {
  host: '127.0.0.1',
  port: 50000,
  shareScheme: 'ostp',
  shareQuery: '',
};

/** The addresses at which clients find the server and their subscriptions, as its configuration says from 0.4.6 on. */
export interface Published {
  readonly domain: string | null;
  /** Null if the server has no TLS for clients. */
  readonly tls: { readonly port: number; readonly path: string | null } | null;
  readonly subscription: SubscriptionSettings;
  readonly overnet: OvernetSettings;
}

/** The settings of the servers' overlay network, from 0.4.7 on, which Keyway stores without acting on them. */
export interface OvernetSettings {
  readonly enabled: boolean;
  readonly entry: boolean;
  /** `ip:port`, like the exit's. */
  readonly gateway: string;
  readonly exit: boolean;
  readonly exitListen: string;
}

export const DEFAULT_OVERNET: OvernetSettings = {
  enabled: false,
  entry: true,
  gateway: '127.0.0.1:9150',
  exit: false,
  exitListen: '127.0.0.1:9151',
};

export interface SubscriptionSettings {
  /** True if the server itself answers them. */
  readonly enabled: boolean;
  /** The path before the tokens, with a leading slash and no trailing one. */
  readonly prefix: string;
  readonly name: string | null;
  /** Hours after which clients ask again. */
  readonly interval: number;
  /** The carriers that have a link. */
  readonly include: readonly Carrier[];
}

/** The ways by which clients reach the tunnel server. */
export type Carrier = 'tls' | 'udp';

/** The defaults for missing members. */
export const DEFAULT_PUBLISHED: Published = {
  domain: null,
  tls: null,
  subscription: { enabled: false, prefix: '/sub', name: null, interval: 12, include: ['tls', 'udp'] },
  overnet: DEFAULT_OVERNET,
};
