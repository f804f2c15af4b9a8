import type { Audit } from './audit.js';
import type { DomainError } from './errors.js';
import type { KeptRecords, RecordChange } from './kept-records.js';
import type { LoggedChange } from './keys/change-log.js';
import type { KeyFieldValues } from './keys/key-fields.js';
import type { CounterValues, KeyEntry, KeyReader, UsageEntry } from './keys/types.js';
import type { MaybeAsync } from './maybe-async.js';
import type {
  AccessKey,
  AnnouncedServer,
  DnsChange,
  DnsConfig,
  DnsQuery,
  KeySnapshot,
  ListenerConfig,
  OutboundRule,
  OutboundSettings,
  Published,
} from './model.js';
import type { CountersOutcome, CountersPost } from './posted-counters.js';
import type { Session } from './session.js';

/**
 * The one door to the state of a gateway, wherever it lives (design: "The door to the state"). A factory opens one,
 * with everything loaded. Only the backend changes the state: the core asks it to, and answers from what the backend
 * keeps in memory, or from its `live` reads.
 *
 * A refused change rejects with a `DomainError` and changes nothing, unless a method says otherwise. One that cannot be
 * decided because the holder of the state is away rejects with `backendAway`.
 */
export interface Backend {
  /** The keys in memory. The backend feeds them, with what it loaded and with every change since. */
  readonly keys: KeyReader;
  /** Keyway's own records, which are not part of the state. */
  readonly records: KeptRecords;
  /** Returns the present settings besides keys. */
  settings(): BackendSettings;
  /** Called in the turn of the event loop in which anyone changed settings or keys. */
  onChange(listener: (reason: ChangeReason) => void): void;

  /**
   * Registers new keys without counters. Resolves to what was made: these, or as many others of the same record where
   * the holder of the state generates them. All or none, unless it rejects with `bulkIncomplete`: then those that were
   * made stay.
   */
  createBareKeys(keys: readonly AccessKey[]): Promise<readonly string[]>;
  readonly changes: KeyChanges;
  /**
   * Treats a change that was visible, but whose answer was lost, as an acknowledged one: its holder may still lose it.
   * Resolves to false where it is not visible any more. Left out where a visible change lasts.
   */
  adopt?(change: KeyChange): Promise<boolean>;
  /** Rejects with `outboundNotConfigured`. */
  replaceRules(rules: readonly OutboundRule[]): Promise<void>;
  /**
   * Replaces the named members. Rejects with `savedInMemory` where they are in force, and the file could not be
   * written.
   */
  changeDns(change: DnsChange): Promise<void>;

  /**
   * Adds a report to the counters, whole or not at all. It has increments rather than sums, so that other counts are
   * not overwritten. At least the last `REMEMBERED_REPORTS` ids are recognized. Rejects with `countedElsewhere` if the
   * holder of the state counts by itself.
   */
  count(report: UsageReport, acknowledgement: Acknowledgement): Promise<ReportOutcome>;

  /**
   * Counts what has been added to the counters of a tunnel server since its post before: base and increment are one
   * step, so that nothing counts twice. Rejects with `invalidBody`, and with `countedElsewhere` as `count` does.
   */
  countPosted(post: CountersPost, acknowledgement: Acknowledgement): Promise<PostOutcome>;

  /** The configuration as a whole; null without one (protocol: "Status and configuration", rule 1). */
  readonly document: ConfigurationDocumentPort | null;
  /** The audit list, where it is held with the state; null where each gateway has its own. */
  readonly audit: Audit | null;
  /**
   * The session of one mount, by its API root, where several gateways have it in common; null where each has its own.
   */
  readonly sessions: ((api: string) => Session) | null;
  /** Reads that ask the holder of the state at every request; null where the keys in memory and the settings answer. */
  readonly live: LiveReads | null;
  /** Null where the keys in memory are always those of the state. */
  readonly replica: Replica | null;
  /** Null where this process alone sees what changes. */
  readonly past: PastChanges | null;
  /** Makes the resolver that belongs to the state fetch its blocklists; null where that is the gateway's own. */
  readonly refreshBlocklists: (() => Promise<void>) | null;
  /** Lists present problems, for health. */
  problems(): Promise<readonly Problem[]>;
  /** Finishes what was accepted, writes what waits, and lets the state go. */
  close(): Promise<void>;
}

/** A server's configuration besides keys, as far as a gateway uses it. */
export interface BackendSettings {
  /** Null when outbound routing is not configured. */
  readonly outbound: OutboundSettings | null;
  readonly dns: DnsConfig;
  /** Null when no listener is described. */
  readonly listener: ListenerConfig | null;
  /** The tunnel server as clients are told, as far as it stands there. */
  readonly announced: Partial<AnnouncedServer>;
  /**
   * The facts that a running server tells of itself, whose configuration may count from its next start only; left out
   * where none tells them.
   */
  readonly told?: ToldByServer | undefined;
  readonly published: Published;
}

export interface ToldByServer {
  /** The host that its UDP links name, whatever the configuration's domain is. */
  readonly host: string;
  /** True where its links say that it has a DNS server; null where they never do. */
  readonly ownDns: boolean | null;
}

/** `saved`: this gateway changed something; the others come from outside, or replace everything. */
export type ChangeReason = 'saved' | ReloadReason;

/** Why a configuration became another one as a whole. */
export type ReloadReason = 'edited' | 'replaced' | 'restored';

/** The columns that become others; one that is not given stays. */
export type KeyUpdate = Partial<KeyFieldValues>;

/** A change of a key. One of a key that is not there is refused with `userNotFound`, but for a create. */
export type KeyChange =
  /** Registers the key with counters at zero, record and counters in one step where it exists. */
  | { readonly op: 'create'; readonly key: AccessKey }
  /** Overwrites what is given of the record; counters stay. */
  | { readonly op: 'update'; readonly accessKey: string; readonly update: KeyUpdate }
  /**
   * Drops record and counters; or sets the counters to zero, refused with `userNotFound` for a key without any, too.
   */
  | { readonly op: 'delete' | 'reset'; readonly accessKey: string }
  /** Puts another key in the place of this one, with its record and counters. */
  | { readonly op: 'rotate'; readonly accessKey: string; readonly successor: string };

/** Why a change was not made; null where it was. With `savedInMemory` it is in force and could not be written. */
export type ChangeOutcome = DomainError | null;

/** The way in which changes are made. */
export interface HowChanged {
  /** Tells these changes from all others, where the driver notes them; null where nobody asks again what became of them. */
  readonly note: string | null;
  /**
   * A change is refused with `unreadableByServer` where a server that reads the state would not start from it
   * afterwards: for callers whose answers no protocol fixes.
   */
  readonly refuses: boolean;
}

/** Changes of keys. */
export interface KeyChanges {
  /** Changes that are made together; 1 where each is a call of its own. */
  readonly most: number;
  /** True where changes under a note that was used before are not made again: its outcomes are told once more. */
  readonly areNoted: boolean;
  /**
   * Makes the changes in their order, each as it would be by itself, and resolves to what became of each. Rejects where
   * nobody who holds the state answers, with an error that `isAway` knows; they may have been made all the same.
   */
  apply(changes: readonly KeyChange[], how: HowChanged): Promise<readonly ChangeOutcome[]>;
  /**
   * Puts a key in the place of another and changes records, both or neither; null where records are not kept with the
   * keys. Resolves to false, with nothing changed, where a record is not as expected. Rejects with why it was not done.
   */
  readonly rotate:
    | ((accessKey: string, successor: string, records: readonly RecordChange[]) => Promise<boolean>)
    | null;
}

/** Usage that the data plane reports, since its last report. */
export interface UsageReport {
  /** By this a report that comes again is known; null for one that will not. */
  readonly id: string | null;
  readonly entries: readonly UsageEntry[];
}

/** The number of report ids that are remembered (design: "The counters store"). */
export const REMEMBERED_REPORTS = 100_000;

/** The point at which a report is answered: `durable` once a crash can no longer undo it. */
export type Acknowledgement = 'durable' | 'memory';

export interface ReportOutcome {
  /** It was counted before and is not counted now. */
  readonly repeated: boolean;
  /** Keys of the report that are not registered, each once. */
  readonly unknownKeys: readonly string[];
  /** `memory`: it was not asked for, or nothing outlives the process. */
  readonly durability: Durability;
}

export type Durability = 'durable' | 'memory' | { readonly failed: string };

/** The outcome of a post, and how durable it is. */
export interface PostOutcome {
  readonly outcome: CountersOutcome;
  readonly durability: Durability;
}

/** The configuration of a server as one JSON document. */
export interface ConfigurationDocumentPort {
  /** One compact JSON value in pieces, numbers spelled as they stand. Rejects with configRead/Strip/ParseFailed. */
  read(): Promise<readonly Buffer[]>;
  /** Replaces it with this JSON text, pretty-printed. Rejects with configModeMissing/Format/WriteFailed. */
  replace(body: Buffer): Promise<void>;
  /**
   * Changes what the patch names and no key, by the smallest edit where the text is kept. Resolves to what it is then.
   * Rejects with what the condition throws, with `conflict`, `useKeys`, `unreadableByServer` and `lockOut`, and as
   * `replace` does.
   */
  patch(patch: ConfigurationPatch): Promise<ConfigurationFingerprint>;
  /**
   * Keeps a version where something was added since the newest one, at most one in ten seconds: to be awaited before
   * many keys are made. Single changes that take something away do it themselves. Never rejects.
   */
  keepVersion(): Promise<void>;
  /** The versions that are kept of it; null where nothing outlives the process. */
  readonly versions: ConfigurationVersions | null;
}

/** A kept version of the configuration. */
export interface KeptVersion {
  /** The time and the beginning of the content's SHA-256. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly keptAt: number;
  readonly forever: boolean;
}

/** The kept versions of the configuration, as they can be read. */
export interface VersionSource {
  /** Reads them, oldest first. */
  list(): Promise<readonly KeptVersion[]>;
  /** Reads the content of one. Rejects where it is damaged. */
  read(id: string): Promise<Buffer>;
  /** Reads what stands there now. Rejects where that cannot be had. */
  present(): Promise<Buffer>;
}

/** The kept versions of the configuration that is served. */
export interface ConfigurationVersions extends VersionSource {
  /** Makes it this content, byte for byte where the home keeps bytes; what it was is kept first. Rejects as `replace` does. */
  restore(content: Buffer): Promise<void>;
}

/** A change of the configuration in its own words. */
export interface ConfigurationPatch {
  /** A JSON Patch (RFC 6902), or a Merge Patch (RFC 7396). */
  readonly form: 'json' | 'merge';
  readonly body: Buffer;
  /** Called with the configuration that is to be changed; throws where that must not be. May be called again. */
  readonly condition: (present: ConfigurationFingerprint) => void;
  /** It may take the last credential of the API away; default false. */
  readonly mayLockOut?: boolean;
}

/** A configuration without its lists of keys, its comments and its spelling, as something to be compared. */
export interface ConfigurationFingerprint {
  readonly digest: string;
  /** A digest for each place that holds no further ones, by its JSON Pointer. */
  readonly members: ReadonlyMap<string, string>;
}

/** Reads that go to the holder of the state. Each fails with `backendAway` when it does not answer. */
export interface LiveReads {
  key(accessKey: string): MaybeAsync<KeySnapshot | undefined>;
  status(): MaybeAsync<LiveStatus>;
  rules(): MaybeAsync<readonly OutboundRule[]>;
  dns(): MaybeAsync<DnsConfig>;
  /** Oldest first; null where the gateway's own resolver has them. */
  readonly queries: (() => MaybeAsync<readonly DnsQuery[]>) | null;
}

/** Keys in memory that follow a state elsewhere, some time behind what others change there. */
export interface Replica {
  /** To be awaited before a list of keys is given out; asks for what is missing. Rejects as live reads do. */
  freshen(): MaybeAsync<void>;
  /**
   * For how long the list that is given out has been known, ms, where its holder is away; null where it is as fresh as
   * can be.
   */
  stale(): number | null;
  /**
   * Prepares answers from what was last known, even if the holder cannot be asked now. `milliseconds`: how long the
   * caller will go on reading the keys. Rejects as live reads do if what is known is too old.
   */
  lastKnown(milliseconds?: number): MaybeAsync<void>;
  /** Watches the holder of the keys for some milliseconds, because somebody depends on whether it is there. */
  watch(milliseconds: number): void;
  /** One key as last known; one that is not is looked for, too many of them together. Rejects as `lastKnown` does. */
  find(accessKey: string): MaybeAsync<KeyEntry | undefined>;
  /** Asks for keys that are not known here, for somebody who shows no credential. Rejects as `lastKnown` does. */
  lookForKeys(): MaybeAsync<void>;
  /**
   * To be awaited before `published` is gone by; asks for it where nobody has read it. Rejects where it never could be.
   */
  learnPublished(): MaybeAsync<void>;
}

/** Changes of a state that several gateways share, for one that goes on where another has ended. */
export interface PastChanges {
  /** Returns the mark of what is in memory; every gateway of the state knows it. */
  mark(): string;
  /**
   * Reads what changed after a mark, perhaps with some of what changed before; null if that is no longer known. Rejects
   * while the holder of the state is away.
   */
  since(mark: string): Promise<MissedChanges | null>;
}

export interface MissedChanges {
  /**
   * In the order in which they happened, as far as that is known; null where they are too many to be told one by one.
   */
  readonly keys: readonly LoggedChange[] | null;
  /** How the settings besides keys became others; null where they did not. */
  readonly settings: ChangeReason | null;
}

/**
 * The counts of the status, and how long the holder of the state has been running; null if the gateway's own time
 * counts.
 */
export interface LiveStatus extends StateCounts {
  /** Whole seconds. */
  readonly uptimeSeconds: number | null;
  /** Left out where those over the keys in memory are right. */
  readonly sums?: StateSums;
}

/** The sums over the counters of all keys. */
export interface StateSums extends CounterValues {
  /** Keys that are connected. */
  readonly online: number;
}

/** Counts of the status (protocol: "Server status"). */
export interface StateCounts {
  /** Counter entries with traffic. */
  readonly active: number;
  /** Registered keys. */
  readonly total: number;
}

/** Something that is wrong with a backend. */
export interface Problem<Name extends string = string> {
  /** A label of a metric, which stays as it is. */
  readonly problem: Name;
  /** A sentence for people, without anything secret. */
  readonly reason: string;
}

/**
 * The problems that a home can have. A restart of this process may mend `own` ones; `outside` ones are somebody else's.
 */
export type ProblemKinds = Readonly<Record<string, 'own' | 'outside'>>;

/** The health of a gateway's state. */
export interface Health {
  problems(): Promise<readonly Problem[]>;
  kinds(): ProblemKinds;
}
