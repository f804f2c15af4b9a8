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

/** A key seen from outside: its record beside its counters (null where it has none). */
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
}

/** The answer for a blocked name: that there is none, or the addresses `0.0.0.0` and `::`. */
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
};

/** One line of the DNS query log; `timestamp` is in seconds since the epoch. */
export interface DnsQuery {
  readonly timestamp: number;
  readonly domain: string;
  readonly clientIp: string;
  readonly blocked: boolean;
  /** True where the answer was SERVFAIL, because nobody could be asked. Absent where it is not known. */
  readonly failed?: boolean;
}

/** Credentials that decide access. An absent `token` is null; an empty one is a configured token that nothing matches. */
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

/** Everything the gateway reads from a server's configuration file. Whatever else stands there is nobody's business. */
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
  /** One sentence each, naming the place, about things that were read past (a duplicate key, a wrong type). */
  readonly warnings: readonly string[];
}

/** A change that a key, rules or DNS operation makes to the configuration file. */
export interface ConfigurationChange {
  /** Per access key its new record, or null for removal. New keys are appended in the map's order. */
  readonly keys?: ReadonlyMap<string, AccessKey | null>;
  readonly rules?: readonly OutboundRule[];
  readonly dns?: DnsChange;
}

/** The tunnel server as clients are told: the announced address and the parts of a share link (protocol: "Subscription"). */
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
  /** The host that the server has found to be its own; it stands beside the configuration. */
  readonly foundHost: string | null;
  /** Null where the server has no TLS for clients. */
  readonly tls: { readonly port: number; readonly path: string | null } | null;
  readonly subscription: SubscriptionSettings;
}

export interface SubscriptionSettings {
  /** The path before the tokens, with a slash at its beginning and none at its end. */
  readonly prefix: string;
  readonly name: string | null;
  /** Hours after which clients ask again. */
  readonly interval: number;
  /** The carriers that have a link. */
  readonly include: readonly Carrier[];
}

/** How clients reach the tunnel server. */
export type Carrier = 'tls' | 'udp';

/** The defaults where a configuration says nothing. */
export const DEFAULT_PUBLISHED: Published = {
  domain: null,
  foundHost: null,
  tls: null,
  subscription: { prefix: '/sub', name: null, interval: 12, include: ['tls', 'udp'] },
};
