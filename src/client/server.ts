import type {
  AccessKey,
  AnnouncedServer,
  AuditEntry,
  DnsChange,
  DnsConfig,
  DnsQuery,
  KeySnapshot,
  OutboundRule,
} from '../core/model.js';
import type { JsonValue } from '../wire/json/json.js';
import type { OperationName } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import type { ServerTexts } from './secrets.js';

/** An answer with its times: of two facts about the same thing the one that was asked for later wins. */
export interface Sent<T> {
  readonly value: T;
  /** `ClockPort.monotonic()` when the request that was answered was sent, ms. */
  readonly sentAt: number;
  /** The server's own time: from the request to the first byte of its answer, ms. */
  readonly serverMilliseconds: number;
}

/**
 * For whom a call is made. Where a line has one session, it is begun anew for a caller alone: what polls would sign the
 * operator out of the server's own panel again and again. What a caller has written and may yet be lost is looked for as the caller's.
 * A look asks whether the server lives, which a 401 says, too: it begins and ends no session.
 */
export type Purpose = 'caller' | 'poll' | 'look';

export interface UpstreamStatus {
  readonly version: string;
  readonly uptimeSeconds: bigint;
  readonly activeUsers: bigint;
  readonly totalUsers: bigint;
  /** The sums over the counters of all keys; null where its line does not tell them. */
  readonly sums: UpstreamSums | null;
  /** The address in its links; null where its line does not tell it. */
  readonly endpoint: UpstreamEndpoint | null;
}

/** Keys that are connected, and the sums over the counters of all keys. */
export interface UpstreamSums {
  readonly online: bigint;
  readonly connections: bigint;
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
}

/** Host and UDP port, and where clients find the server over TLS; null without. */
export interface UpstreamEndpoint extends Pick<AnnouncedServer, 'host' | 'port'> {
  readonly tls: { readonly host: string; readonly port: number; readonly path: string | null } | null;
  /** The path before the tokens of its subscriptions; null without them. */
  readonly subscriptionPrefix: string | null;
  readonly ownDns: boolean;
}

/** The server as it announces itself to clients in the subscription of a key. */
export interface UpstreamAnnouncement extends AnnouncedServer {
  /** True where its links say that it has a DNS server; null where its line's links never do. */
  readonly ownDns: boolean | null;
}

/**
 * One running server of whatever line, by its own management API. It keeps nothing of the server's but session, version and
 * line. Calls are not put in order: who writes sees to it that one write is under way at a time.
 *
 * Every call rejects with a `DomainError`: the server's own refusal, or an `UpstreamError` where there is no answer. Calling
 * what `line()` has no capability for is an error of the caller, an `Error`. A read is tried once more; a write is sent again
 * only after a 401, once, with a new session. Purpose is `caller` unless given.
 */
export interface UpstreamServer {
  /** Its origin, such as `http://127.0.0.1:9090`: the web path is nothing that everybody is to know. */
  readonly name: string;
  /** Every text that a call resolves to is struck already, but for those of its configuration. */
  readonly texts: ServerTexts;
  /** The line it speaks and the version it reported, as found out last; null until it first told. */
  line(): Revision | null;
  version(): string | null;
  /** Tells whether its version is later than the last known one, and nobody has named a line: what is written to its configuration may be nothing that it reads. */
  isLater(): boolean;
  /** Lists what keeps calls from being answered, the gravest first; empty while all are. */
  troubles(): readonly UpstreamTrouble[];
  /** Called when line, version or trouble have become others, the first time included. */
  onChange(listener: () => void): void;

  /** Asks what it is where that is not known, and keeps it. Every other call does so too. */
  find(): Promise<Revision>;
  /** A version that is another one now changes `line()`. */
  status(purpose?: Purpose): Promise<Sent<UpstreamStatus>>;
  /**
   * In the order of the answer. Counters are null for a key that certainly has none; `createdAt` is 0, names that the line
   * does not tell are null. A snapshot that says the same as `known` has of its key is that very object.
   */
  listUsers(options?: ListOptions): Promise<Sent<readonly KeySnapshot[]>>;
  getUser(accessKey: string, purpose?: Purpose): Promise<Sent<KeySnapshot | undefined>>;
  createUser(key: AccessKey): Promise<Sent<void>>;
  /** Needs a line with `bulk`. Resolves to the keys that the server made. */
  bulkCreateUsers(count: number, limitBytes: bigint | null): Promise<Sent<readonly string[]>>;
  updateUser(key: AccessKey): Promise<Sent<void>>;
  setLimit(accessKey: string, limitBytes: bigint | null): Promise<Sent<void>>;
  deleteUser(accessKey: string): Promise<Sent<void>>;
  resetUser(accessKey: string): Promise<Sent<void>>;
  /** Needs a line with `config`, as both calls do. One JSON value, the bytes as the server wrote them. */
  getConfig(purpose?: Purpose): Promise<Sent<Buffer>>;
  putConfig(body: Buffer, purpose?: Purpose): Promise<Sent<void>>;
  /** Needs a line with `rules`, as both calls do. A protocol that the line does not tell is null. */
  rules(): Promise<Sent<readonly OutboundRule[]>>;
  putRules(rules: readonly OutboundRule[]): Promise<Sent<void>>;
  /** Needs a line with `dns`, as the four calls from here do. Resolves to the members that the line tells. */
  dns(): Promise<Sent<DnsChange>>;
  /** All members that the line has: what is to stay is given as it is. */
  putDns(dns: DnsConfig): Promise<Sent<void>>;
  queries(): Promise<Sent<readonly DnsQuery[]>>;
  refreshBlocklists(): Promise<Sent<void>>;
  /** Needs a line with `audit`, as the three calls do. Newest first. */
  listAudit(): Promise<Sent<readonly AuditEntry[]>>;
  addAudit(event: Pick<AuditEntry, 'eventEn' | 'eventRu' | 'success'>): Promise<Sent<void>>;
  clearAudit(): Promise<Sent<void>>;
  /** The share link that the server gives for a key, and the client configuration; undefined for a key that it does not have. */
  link(accessKey: string): Promise<Sent<string | undefined>>;
  clientConfig(accessKey: string): Promise<Sent<JsonValue | undefined>>;
  /** Undefined for a key that the server does not have. */
  subscription(accessKey: string, purpose?: Purpose): Promise<Sent<UpstreamAnnouncement | undefined>>;
  /** Ends every connection; calls under way reject. */
  close(): void;
}

/** The kinds of calls in the server's health: each has an outcome of its own. `connection`: nobody takes one. */
export type AskedThing = 'connection' | 'sign-in' | 'lists' | 'single calls' | 'writes' | 'configuration';

/** `away`: it does not answer; `refused`: it answers, and does not let Keyway in. */
export interface UpstreamTrouble {
  readonly of: AskedThing;
  readonly kind: 'away' | 'refused';
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** A clause for people, without anything secret. */
  readonly reason: string;
}

export interface ListOptions {
  readonly purpose?: Purpose;
  /** Returns the known key, so that one that has not changed costs no new object. */
  readonly known?: (accessKey: string) => KeySnapshot | undefined;
  /** Bytes that have come of the list, for progress. */
  readonly onProgress?: (bytes: number) => void;
}

/** Told of every call to a server, at once; for metrics. It must not throw. */
export interface CallsObserverPort {
  /** `answered`: an envelope of success or with a refusal of its own; the others are the kinds of `UpstreamError`. */
  called(call: {
    readonly operation: OperationName;
    readonly outcome: CallOutcome;
    /** The time of the whole call, ms. */
    readonly milliseconds: number;
  }): void;
  /** The server no longer takes the session that Keyway held. */
  sessionLost(): void;
}

export type CallOutcome = 'answered' | 'away' | 'silent' | 'refused';
