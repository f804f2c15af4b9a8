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

/** An answer with its times. Of two facts about the same thing, the one that was asked for later wins. */
export interface Sent<T> {
  readonly value: T;
  /** The `ClockPort.monotonic()` at which the answered request was sent, in ms. */
  readonly sentAt: number;
  /** The server's own time, from the request to the first byte of its answer, in ms. */
  readonly serverMilliseconds: number;
}

/**
 * Who a call is made for. If a line has a single session, a new one is begun only for a caller, because polling would
 * sign the operator out of the server's own panel again and again. Checking whether a caller's write was lost counts as
 * the caller's. A look asks whether the server is alive, which even a 401 answers: it begins and ends no session.
 */
export type Purpose = 'caller' | 'poll' | 'look';

export interface UpstreamStatus {
  readonly version: string;
  readonly uptimeSeconds: bigint;
  readonly activeUsers: bigint;
  readonly totalUsers: bigint;
  /** The sums over the counters of all keys; null if its line does not report them. */
  readonly sums: UpstreamSums | null;
  /** The address in its links; null if its line does not report it. */
  readonly endpoint: UpstreamEndpoint | null;
}

/** The number of connected keys, and the sums over the counters of all keys. */
export interface UpstreamSums {
  readonly online: bigint;
  readonly connections: bigint;
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
}

/** Host and UDP port, and where clients find the server over TLS; null without TLS. */
export interface UpstreamEndpoint extends Pick<AnnouncedServer, 'host' | 'port'> {
  readonly tls: { readonly host: string; readonly port: number; readonly path: string | null } | null;
  /** The path before the tokens of its subscriptions; null without them. */
  readonly subscriptionPrefix: string | null;
  readonly ownDns: boolean;
}

/** The server as the subscription of a key announces it to clients. */
export interface UpstreamAnnouncement extends AnnouncedServer {
  /** True if its links say that it has a DNS server; null if its line's links never do. */
  readonly ownDns: boolean | null;
}

/**
 * One running server of any line, by its own management API. It remembers only the session, version and line of the
 * server. Calls are not put in order: a caller that writes has to see to it that one write is under way at a time.
 *
 * Every call rejects with a `DomainError`: the server's own refusal, or an `UpstreamError` if there is no answer. A
 * call that `line()` has no capability for is a bug of the caller, and rejects with an `Error`. A read is repeated
 * once; a write is repeated only after a 401, once, with a new session. Purpose is `caller` unless given.
 */
export interface UpstreamServer {
  /** Its origin, such as `http://127.0.0.1:9090`, without the web path, which may be secret. */
  readonly name: string;
  /** Converts texts of the configuration; every other text that a call resolves to has been struck already. */
  readonly texts: ServerTexts;
  /** The line it speaks and the version it reported last; null before its first answer. */
  line(): Revision | null;
  version(): string | null;
  /**
   * Tells whether its version is later than the last known one, and no line was named: it may not read what is written
   * to its configuration.
   */
  isLater(): boolean;
  /** Lists what keeps calls from being answered, the most serious first; empty if nothing does. */
  troubles(): readonly UpstreamTrouble[];
  /** Registers a listener for changes of line, version or troubles, the first included. */
  onChange(listener: () => void): void;

  /** Finds out its line if that is unknown, and remembers it. Every other call does so too. */
  find(): Promise<Revision>;
  /** Reads the status; if the version in it has changed, so has `line()`. */
  status(purpose?: Purpose): Promise<Sent<UpstreamStatus>>;
  /**
   * Lists the keys in the order of the answer. Counters are null for a key that certainly has none; `createdAt` is 0,
   * and names are null if the line does not report them. A snapshot with the values of `known` is that very object.
   */
  listUsers(options?: ListOptions): Promise<Sent<readonly KeySnapshot[]>>;
  getUser(accessKey: string, purpose?: Purpose): Promise<Sent<KeySnapshot | undefined>>;
  createUser(key: AccessKey): Promise<Sent<void>>;
  /** Requires a line with `bulk`. Resolves to the keys that the server made. */
  bulkCreateUsers(count: number, limitBytes: bigint | null): Promise<Sent<readonly string[]>>;
  updateUser(key: AccessKey): Promise<Sent<void>>;
  setLimit(accessKey: string, limitBytes: bigint | null): Promise<Sent<void>>;
  deleteUser(accessKey: string): Promise<Sent<void>>;
  resetUser(accessKey: string): Promise<Sent<void>>;
  /** Requires a line with `config`, as both calls do. One JSON value, in the server's own bytes. */
  getConfig(purpose?: Purpose): Promise<Sent<Buffer>>;
  putConfig(body: Buffer, purpose?: Purpose): Promise<Sent<void>>;
  /** Requires a line with `rules`, as both calls do. A protocol that the line does not report is null. */
  rules(): Promise<Sent<readonly OutboundRule[]>>;
  putRules(rules: readonly OutboundRule[]): Promise<Sent<void>>;
  /** Requires a line with `dns`, as the next four calls do. Resolves to the members that the line reports. */
  dns(): Promise<Sent<DnsChange>>;
  /** Takes all members of the line, including unchanged ones. */
  putDns(dns: DnsConfig): Promise<Sent<void>>;
  queries(): Promise<Sent<readonly DnsQuery[]>>;
  refreshBlocklists(): Promise<Sent<void>>;
  /** Requires a line with `audit`, as the three calls do. Newest first. */
  listAudit(): Promise<Sent<readonly AuditEntry[]>>;
  addAudit(event: Pick<AuditEntry, 'eventEn' | 'eventRu' | 'success'>): Promise<Sent<void>>;
  clearAudit(): Promise<Sent<void>>;
  /** Resolves to the server's share link for a key, or its client configuration; undefined for an unknown key. */
  link(accessKey: string): Promise<Sent<string | undefined>>;
  clientConfig(accessKey: string): Promise<Sent<JsonValue | undefined>>;
  /** Resolves to undefined for a key that the server does not have. */
  subscription(accessKey: string, purpose?: Purpose): Promise<Sent<UpstreamAnnouncement | undefined>>;
  /** Ends every connection; calls under way reject. */
  close(): void;
}

/** The kinds of calls in the server's health, each with its own outcome. `connection`: it accepts no connection. */
export type AskedThing = 'connection' | 'sign-in' | 'lists' | 'single calls' | 'writes' | 'configuration';

/** `away`: it does not answer; `refused`: it answers, and does not let Keyway in. */
export interface UpstreamTrouble {
  readonly of: AskedThing;
  readonly kind: 'away' | 'refused';
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** A clause for the user, without secrets. */
  readonly reason: string;
}

export interface ListOptions {
  readonly purpose?: Purpose;
  /** Returns the known key, so that an unchanged one costs no new object. */
  readonly known?: (accessKey: string) => KeySnapshot | undefined;
  /** Called with the bytes of the list so far, for progress. */
  readonly onProgress?: (bytes: number) => void;
}

/** Observes every call to a server as it ends, for metrics. It must not throw. */
export interface CallsObserverPort {
  /** `answered`: an envelope of success or with a refusal of its own; the others are the kinds of `UpstreamError`. */
  called(call: {
    readonly operation: OperationName;
    readonly outcome: CallOutcome;
    /** Milliseconds of the whole call. */
    readonly milliseconds: number;
  }): void;
  /** Called when the server no longer accepts the session that Keyway had. */
  sessionLost(): void;
}

export type CallOutcome = 'answered' | 'away' | 'silent' | 'refused';
