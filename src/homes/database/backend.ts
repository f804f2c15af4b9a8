import type {
  Acknowledgement,
  Backend,
  Replica as BackendReplica,
  BackendSettings,
  ChangeReason,
  KeyChange,
  KeyChanges,
  LiveReads,
  PastChanges,
  Problem,
  ProblemKinds,
  ReportOutcome,
  UsageReport,
} from '../../core/backend.js';
import { ChangeListeners } from '../../core/change-listeners.js';
import { DomainError } from '../../core/errors.js';
import { type KeptRecords, RecordTable } from '../../core/kept-records.js';
import { KeyRegistry } from '../../core/keys/registry.js';
import type { KeyEntry } from '../../core/keys/types.js';
import type { MaybeAsync } from '../../core/maybe-async.js';
import type { AccessKey, DnsChange, OutboundRule } from '../../core/model.js';
import { type Connections, type ConnectionsUse, openConnections } from './connection.js';
import { Counting, type CountingStatus } from './counting.js';
import { DatabaseDocument, type DocumentOptions } from './document.js';
import { Follower, type FollowerOptions, type FollowerStatus } from './follower.js';
import { Heartbeat, type HeartbeatOptions, type StateFigures } from './heartbeat.js';
import { type Hints, startHints } from './hints.js';
import { createJitter, type Jitter } from './jitter.js';
import { KeptDocument } from './kept-document.js';
import { createKeyChanges } from './key-changes.js';
import { withoutNul } from './limits.js';
import { readPresent } from './open-document.js';
import { OwnWrites, TO_STRANGERS } from './own-writes.js';
import { createPast } from './past.js';
import { createReplica, type Replica } from './replica.js';
import { databaseProblem, migrate, readSchema, SCHEMA_VERSION } from './schema.js';
import { readDnsChange, readSettings, storedDns } from './server-settings.js';
import { createSharedAudit, createSharedSessions, type SharedAudit, type SharedSessions } from './shared.js';
import { unknownOf, WRITES, type WriteStatement } from './statements.js';
import { createWrites, type Writes } from './writes.js';

/** The backend of a state that several gateways share, in PostgreSQL. */
export interface DatabaseBackend extends Backend {
  readonly document: DatabaseDocument;
  status(): DatabaseStatus;
}

export interface DatabaseStatus extends FollowerStatus {
  readonly counting: CountingStatus;
  readonly isListening: boolean;
  readonly connections: Readonly<Record<keyof Opened, ConnectionsUse>>;
  /** The figures last read; null before the first reading. */
  readonly figures: StateFigures | null;
  /** The number of writes by outcome, since the start. */
  readonly writes: Readonly<Record<'done' | 'nothing' | 'unknown', number>>;
}

export interface DatabaseBackendOptions
  extends Pick<FollowerOptions, 'pollMilliseconds' | 'lookUpMilliseconds' | 'observe' | 'progress' | 'asked'>,
    Pick<HeartbeatOptions, 'heartbeatMilliseconds'>,
    Pick<DocumentOptions, 'clock' | 'random' | 'log'> {
  /** `postgres://…`, including its password if it has one. */
  readonly url: string;
  /** The URL to listen for hints of changes at; by default the same. */
  readonly listenUrl?: string;
  /** Milliseconds for which reads continue while the database is away; default 60 s. */
  readonly stale?: number;
  /** Brings a schema that is missing or older up to date; default true. */
  readonly migrates?: boolean;
  /** Listens to hints; default true. */
  readonly listens?: boolean;
}

export const DATABASE_PROBLEMS = {
  database_away: 'outside',
  database_refuses_writes: 'outside',
} as const satisfies ProblemKinds;

const NO_POSTS = 'over a database counters are not taken as they stand: report increments to /v1/usage';
const DAY = 86_400_000;
const STALE = 60_000;
/** Milliseconds for which the data plane is served the last known state. */
const LAST_KNOWN = DAY;
/**
 * The most connections. Batches of counters have their own, so that writes that wait for one another do not hold them
 * up. One more is for asking about the outcome of a write, and no write uses it.
 */
const WRITING = 5;
const COUNTING = 2;
const READING = 4;
const ASKING = 1;
/** In milliseconds. */
const DEADLINE = 5_000;

/** Opens the state. Rejects with an `Error` for the user. */
export async function openDatabaseBackend(options: DatabaseBackendOptions): Promise<DatabaseBackend> {
  const { url, random } = options;
  const gateway = random.uuid();
  // An open connection is available even when others have taken all that the database allows.
  const asking = openConnections({ url, gateway, most: ASKING, kept: 1 });
  const open = (most: number, kept: number) => openConnections({ url, gateway, most, kept, asking });
  const opened: Opened = { asking, reading: open(READING, 1), writing: open(WRITING, 1), batching: open(COUNTING, 0) };
  try {
    await prepareSchema(asking, options);
    const state = new SharedState(options, opened, gateway);
    await state.start();
    return state;
  } catch (error) {
    await closeAll(opened);
    throw new Error(databaseProblem(error), { cause: error });
  }
}

async function prepareSchema(
  connections: Connections,
  { migrates = true, log }: DatabaseBackendOptions,
): Promise<void> {
  const found = await readSchema(connections);
  if (found.problem === null) return;
  if (found.version >= SCHEMA_VERSION) throw new Error(found.problem);
  if (!migrates) throw new Error(`${found.problem}: run "keyway database migrate", or start without --no-migrate`);
  const applied = await migrate(connections);
  if (applied.length > 0) log.info({ versions: applied }, 'the schema of the database was brought up to date');
}

type Opened = Readonly<Record<'asking' | 'reading' | 'writing' | 'batching', Connections>>;

async function closeAll(opened: Opened): Promise<void> {
  await Promise.all(Object.values(opened).map((each) => each.close()));
}

/**
 * Keeps the state in memory together with what follows, writes and counts. Methods that are passed on by themselves are
 * bound.
 */
class SharedState implements DatabaseBackend {
  readonly keys: KeyRegistry;
  readonly document: DatabaseDocument;
  readonly audit: SharedAudit;
  readonly sessions: SharedSessions['of'];
  readonly live: LiveReads;
  readonly replica: BackendReplica;
  readonly past: PastChanges;
  readonly records: KeptRecords;
  readonly changes: KeyChanges;
  readonly refreshBlocklists = null;
  readonly #options: DatabaseBackendOptions;
  readonly #opened: Opened;
  readonly #gateway: string;
  readonly #jitter: Jitter;
  readonly #keptDocument: KeptDocument;
  readonly #follower: Follower;
  readonly #writes: Writes;
  readonly #batches: Writes;
  readonly #own: OwnWrites;
  readonly #counting: Counting;
  readonly #listeners: ChangeListeners;
  #settings: BackendSettings = readSettings({});
  #dnsChanges: readonly DnsChange[] = [];
  #hints: Hints | null = null;
  #heartbeat: Heartbeat | null = null;
  #isClosed = false;

  constructor(options: DatabaseBackendOptions, opened: Opened, gateway: string) {
    const { clock, random, log, stale = STALE } = options;
    const { reading, writing, batching } = opened;
    this.#options = options;
    this.#listeners = new ChangeListeners(log);
    this.#opened = opened;
    this.#gateway = gateway;
    this.#jitter = createJitter(random);
    this.keys = new KeyRegistry(clock.now);
    const keys = this.keys;
    const jitter = this.#jitter;
    const seen = () => this.#follower.status().seen;
    const refused = (reason: string) => log.warn({ reason }, 'the configuration has no place for a change');
    this.#keptDocument = new KeptDocument({
      connections: reading,
      keys,
      present: () => ({ outbound: this.#settings.outbound, dnsChanges: this.#dnsChanges }),
      fresh: () => this.#follower.fresh('state'),
      seen,
      registeredAt: (accessKey) => replica.registeredAt(accessKey),
      refused,
    });
    const replica: Replica = createReplica(keys, this.#keptDocument);
    const shared = {
      change: (statement: WriteStatement) => this.#own.save(statement, 'backendAway'),
      lookUp: () => this.#lookUp(),
      clock,
      random,
    };
    const sessions = createSharedSessions(shared);
    this.sessions = sessions.of;
    this.audit = createSharedAudit(shared, () => this.#expectYoungerThan(stale));
    const records = new RecordTable();
    this.records = {
      outliveProcess: true,
      isShared: true,
      lookUp: () => this.#lookUp(),
      of: (kind) => records.of(kind),
      onChange: (kind, listener) => records.onChange(kind, listener),
      change: (changes) => this.#own.saveExpecting(WRITES.changeRecords(changes)),
    };
    this.#follower = new Follower({
      ...options,
      connections: {
        ...reading,
        renew() {
          for (const each of Object.values(opened)) each.renew();
        },
      },
      gateway,
      replica,
      followed: {
        settings: (stored, isPut) => {
          this.#dnsChanges = [stored.dnsFirst ?? {}, stored.dnsChange ?? {}].map(readDnsChange);
          this.#become(readSettings(stored), isPut ? (stored.put ?? 'replaced') : 'saved');
        },
        audit: (entries) => this.audit.take(entries),
        sessions: (followed, are) => (are === 'all' ? sessions.replaceAll(followed) : sessions.take(followed)),
        records: (followed, are) => (are === 'all' ? records.replaceAll(followed) : records.take(followed)),
      },
      jitter,
    });
    this.#writes = this.#writesOver(writing, 'write');
    this.#batches = this.#writesOver(batching, 'batch');
    const [writes, follower] = [this.#writes, this.#follower];
    this.#own = new OwnWrites({ ...options, writes, follower, committed: () => this.#hints?.changed(), jitter });
    this.changes = createKeyChanges({
      own: this.#own,
      records: this.records,
      changeOne: (asked) => this.#changeOne(asked),
      keepVersion: () => this.document.keepVersion(),
    });
    this.#counting = new Counting({
      ...options,
      gateway,
      writes: this.#batches,
      incarnation: replica.incarnation,
      reloads: () => follower.status().reloads,
      unknownOf: async (batch) => (await reading.run(unknownOf(batch), DEADLINE))[0]?.[0]?.[0] ?? null,
      seen,
      counted: (batch) => follower.counted(batch),
      addUnread: replica.addUnread,
      jitter,
    });
    this.document = new DatabaseDocument({
      ...options,
      connections: reading,
      writes: this.#own,
      keys,
      // Without all keys nothing tells here which of them have changed since the configuration was put.
      kept: (options.asked ?? null) === null ? this.#keptDocument : { current: () => readPresent(reading, refused) },
      showing: () => this.#own.showing(),
    });
    this.live = {
      key: (accessKey) => this.#find(accessKey, stale),
      status: () => {
        this.#expectYoungerThan(stale);
        return { active: keys.active, total: keys.size, uptimeSeconds: null };
      },
      rules: () => {
        this.#expectYoungerThan(stale);
        return this.#settings.outbound?.rules ?? [];
      },
      dns: () => {
        this.#expectYoungerThan(stale);
        return this.#settings.dns;
      },
      queries: null,
    };
    this.past = createPast(reading, seen);
    this.replica = {
      stale: () => null,
      freshen: () => this.#expectYoungerThan(stale),
      watch: () => undefined,
      lastKnown: () => this.#expectYoungerThan(LAST_KNOWN),
      find: (accessKey) => this.#find(accessKey, LAST_KNOWN),
      lookForKeys: () => this.#lookUp(),
      learnPublished: () => undefined,
    };
  }

  /** Loads everything, then starts following, hinting and reporting that the gateway is alive. */
  async start(): Promise<void> {
    const { url, listenUrl = url, listens = true, progress } = this.#options;
    const shared = {
      ...this.#options,
      connections: this.#opened.reading,
      gateway: this.#gateway,
      jitter: this.#jitter,
    };
    await this.#follower.start();
    progress?.clear();
    if (listens) this.#hints = startHints({ ...shared, listenUrl, onHint: this.#follower.hint });
    this.#heartbeat = new Heartbeat({
      ...shared,
      isTaken: () => {
        for (const each of [this.#writes, this.#batches]) each.othersAreTaken();
      },
    });
  }

  settings(): BackendSettings {
    return this.#settings;
  }

  onChange(listener: (reason: ChangeReason) => void): void {
    this.#listeners.add(listener);
  }

  async createBareKeys(made: readonly AccessKey[]): Promise<readonly string[]> {
    await this.#own.save(WRITES.createKeys(made, false));
    return made.map(({ accessKey }) => accessKey);
  }

  readonly replaceRules = async (rules: readonly OutboundRule[]): Promise<void> => {
    await this.document.keepVersion();
    await this.#own.save(WRITES.replaceRules(withoutNul(rules, 'rules')));
  };

  async changeDns(dns: DnsChange): Promise<void> {
    await this.document.keepVersion();
    await this.#own.save(WRITES.changeDns(withoutNul(storedDns(dns), 'dns')));
  }

  async count(report: UsageReport, acknowledgement: Acknowledgement): Promise<ReportOutcome> {
    const isUnknown = ({ accessKey }: { readonly accessKey: string }) => this.keys.get(accessKey) === undefined;
    if (acknowledgement === 'memory' && report.entries.some(isUnknown)) await this.#lookUp();
    withoutNul(report.id, 'report_id');
    const unfit = report.entries.flatMap(({ accessKey }) => (accessKey.includes('\0') ? [accessKey] : []));
    if (unfit.length === 0) return this.#counting.count(report, acknowledgement);
    // The database cannot hold these keys, so they are not registered.
    const entries = report.entries.filter(({ accessKey }) => !unfit.includes(accessKey));
    const outcome = await this.#counting.count({ ...report, entries }, acknowledgement);
    return { ...outcome, unknownKeys: [...outcome.unknownKeys, ...new Set(unfit)] };
  }

  /** Always rejects: the bases of posts are kept in a data folder, which several gateways do not share. */
  async countPosted(): Promise<never> {
    throw new DomainError('countedElsewhere', NO_POSTS);
  }

  async problems(): Promise<readonly Problem[]> {
    const { age, failure, refusal } = this.#follower.status();
    const refused = this.#refusesWrites();
    if (failure === null) return refused === null ? [] : [{ problem: 'database_refuses_writes', reason: refused }];
    const since = `${Math.floor(age / 1000)} seconds`;
    const reason = refusal ?? `the database has not answered for ${since}: ${failure}`;
    return [{ problem: 'database_away', reason }];
  }

  readonly status = (): DatabaseStatus => {
    const { asking, reading, writing, batching } = this.#opened;
    return {
      ...this.#follower.status(),
      counting: this.#counting.status(),
      isListening: this.#hints?.isListening() ?? false,
      connections: { asking: asking.use(), reading: reading.use(), writing: writing.use(), batching: batching.use() },
      figures: this.#heartbeat?.figures ?? null,
      writes: this.#own.counts,
    };
  };

  readonly close = async (): Promise<void> => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#heartbeat?.stop();
    this.#keptDocument.close();
    await this.#counting.close();
    await this.#follower.stop();
    await this.#heartbeat?.leave();
    this.#hints?.close();
    await closeAll(this.#opened);
  };

  /** Creates writes over these connections that write nothing into a state that this Keyway must not serve. */
  #writesOver(connections: Connections, operation: 'write' | 'batch'): Writes {
    const { clock, observe } = this.#options;
    const { asking } = this.#opened;
    const sent = createWrites({ ...this.#options, connections, asking, seen: () => this.#follower.status().seen });
    return {
      ...sent,
      write: async (statement, patience) => {
        const { refusal: reason } = this.#follower.status();
        if (reason !== null) return { kind: 'nothing', reason, sqlState: null };
        const began = clock.monotonic();
        const written = await sent.write(statement, patience);
        observe?.(operation, clock.monotonic() - began);
        return written;
      },
    };
  }

  /** Returns why changes or reports are refused, although reads may be answered; null if they are not. */
  #refusesWrites(): string | null {
    return this.#writes.refusal() ?? this.#batches.refusal() ?? this.#heartbeat?.refusal ?? null;
  }

  /** Throws if memory is older than `limit` milliseconds. */
  #expectYoungerThan(limit: number): void {
    if (!this.#follower.isFailing()) return;
    const { age, refusal } = this.#follower.status();
    if (age < limit) return;
    const reason = refusal ?? `the database has not answered for ${Math.floor(age / 1000)} seconds`;
    throw new DomainError('backendAway', reason, 1);
  }

  async #lookUp(): Promise<void> {
    try {
      await this.#follower.lookUp();
    } catch {
      throw new DomainError('backendAway', TO_STRANGERS, 1);
    }
  }

  #find(accessKey: string, limit: number): MaybeAsync<KeyEntry | undefined> {
    this.#expectYoungerThan(limit);
    return this.#known(accessKey);
  }

  /** Returns a key; one that is unknown here may just have been made by another gateway. */
  #known(accessKey: string): MaybeAsync<KeyEntry | undefined> {
    return this.keys.get(accessKey) ?? this.#lookUp().then(() => this.keys.get(accessKey));
  }

  async #changeOne(asked: KeyChange): Promise<void> {
    switch (asked.op) {
      case 'create':
        return this.#own.createKey(asked.key);
      case 'update':
        return this.#saveKnown(asked, WRITES.updateKey(asked.accessKey, asked.update));
      case 'delete':
        return this.#saveKnown(asked, WRITES.deleteKey(asked.accessKey));
      case 'reset':
        return this.#saveKnown(asked, WRITES.resetKey(asked.accessKey));
      case 'rotate':
        throw new Error('a rotation comes with a note, or by itself');
    }
  }

  /** Saves a change of a known key; an unknown one must not use up a number of the database. */
  async #saveKnown({ op, accessKey }: Exclude<KeyChange, { op: 'create' }>, statement: WriteStatement): Promise<void> {
    try {
      if ((await this.#known(accessKey)) === undefined) throw new DomainError('userNotFound');
      if (op !== 'reset') await this.document.keepVersion();
      await this.#own.saveKey(accessKey, statement);
    } catch (error) {
      throw error instanceof DomainError && error.code === 'backendAway' ? new DomainError('saveFailed') : error;
    }
  }

  #become(next: BackendSettings, reason: ChangeReason): void {
    this.document.settingsChanged();
    this.#settings = next;
    this.#listeners.tell(reason);
  }
}
