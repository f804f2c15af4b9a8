import type {
  Backend,
  BackendSettings,
  ChangeReason,
  KeyUpdate,
  LiveReads,
  Problem,
  ProblemKinds,
} from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { createKeyRegistry } from '../../core/keys/registry.js';
import type { KeyEntry } from '../../core/keys/types.js';
import { type MaybeAsync, mapMaybeAsync } from '../../core/maybe-async.js';
import type { AccessKey, DnsChange } from '../../core/model.js';
import type { ClockPort, LogPort, ProgressPort, RandomPort } from '../../core/ports.js';
import type { KeptVersion } from '../../document/retention.js';
import { failureWords } from '../../platform/failure-words.js';
import { type Connections, type ConnectionsUse, openConnections } from './connection.js';
import { type Counting, type CountingStatus, createCounting } from './counting.js';
import { DatabaseDocument, readVersions } from './document.js';
import { Follower, type FollowerStatus } from './follower.js';
import { Heartbeat, type StateFigures } from './heartbeat.js';
import { type Hints, startHints } from './hints.js';
import { createJitter } from './jitter.js';
import { KeptDocument } from './kept-document.js';
import { textProblem, withoutNul } from './limits.js';
import type { DurationsObserver } from './looks.js';
import { OwnWrites, TO_STRANGERS } from './own-writes.js';
import { createReplica, type Replica } from './replica.js';
import { databaseProblem, migrate, readSchema, SCHEMA_VERSION } from './schema.js';
import { readDnsChange, readSettings, storedDns } from './server-settings.js';
import { createSharedAudit, createSharedSessions } from './shared.js';
import { unknownOf, WRITES, type WriteStatement } from './statements.js';
import { createWrites, type Writes } from './writes.js';

/** The backend of a state that several gateways share, in PostgreSQL. */
export interface DatabaseBackend extends Backend {
  readonly document: DatabaseDocument;
  status(): DatabaseStatus;
}

/** For metrics. */
export interface DatabaseStatus extends FollowerStatus {
  readonly counting: CountingStatus;
  readonly isListening: boolean;
  /** Connections by their purpose. */
  readonly connections: Readonly<Record<keyof Opened, ConnectionsUse>>;
  /** The figures of the last question; null before the first. */
  readonly figures: StateFigures | null;
  /** Writes by how they ended, since the start. */
  readonly writes: Readonly<Record<'done' | 'nothing' | 'unknown', number>>;
}

export interface DatabaseBackendOptions {
  /** `postgres://…`, with its password where it has one. */
  readonly url: string;
  /** The URL at which hints of changes are listened to; default the same. */
  readonly listenUrl?: string;
  /** Milliseconds for which reads go on while the database is away; default 60 s. */
  readonly stale?: number;
  /** Brings a schema that is missing or older up to date; default true. */
  readonly migrates?: boolean;
  /** Refuses a configuration that would take the inbounds with keys away, as for a file. */
  readonly guard?: boolean;
  /** Milliseconds for which counters of keys that left by the configuration wait; default 30 days. */
  readonly keepGone?: number;
  /** Milliseconds between two looks; default 400. */
  readonly pollMilliseconds?: number;
  /** Milliseconds between looks for what strangers ask for; default 25. */
  readonly lookUpMilliseconds?: number;
  /** Milliseconds between two signs of life; default 15 s. */
  readonly heartbeatMilliseconds?: number;
  /** Listens to hints; default true. */
  readonly listens?: boolean;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
  readonly observe?: DurationsObserver;
}

/** The problems of a database. */
export const DATABASE_PROBLEMS = {
  database_away: 'outside',
  database_refuses_writes: 'outside',
} as const satisfies ProblemKinds;

const NO_POSTS = 'over a database counters are not taken as they stand: report increments to /v1/usage';
const DAY = 86_400_000;
const STALE = 60_000;
/** Milliseconds for which the data plane is answered from what was last known. */
const LAST_KNOWN = DAY;
/**
 * Connections at most. Batches of counters have their own: writes that wait for one another hold up none. What became of a write
 * is asked over one more, which no write takes.
 */
const WRITING = 5;
const COUNTING = 2;
const READING = 4;
const ASKING = 1;
/** Milliseconds. */
const DEADLINE = 5_000;

/** Opens the state. Rejects with an `Error` whose message is for people. */
export async function openDatabaseBackend(options: DatabaseBackendOptions): Promise<DatabaseBackend> {
  const { url, random } = options;
  const gateway = random.uuid();
  // One that is open is there when others have taken all that the database allows.
  const asking = openConnections({ url, gateway, most: ASKING, kept: 1 });
  const open = (most: number, kept: number) => openConnections({ url, gateway, most, kept, asking });
  const opened: Opened = { asking, reading: open(READING, 1), writing: open(WRITING, 1), batching: open(COUNTING, 0) };
  try {
    await prepareSchema(asking, options);
    return await serve(options, opened, gateway);
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

async function serve(options: DatabaseBackendOptions, opened: Opened, gateway: string): Promise<DatabaseBackend> {
  const { asking, reading, writing, batching } = opened;
  const { clock, random, log, stale = STALE, keepGone = 30 * DAY, progress } = options;
  const jitter = createJitter(random);
  const keys = createKeyRegistry(clock.now);
  const keptDocument: KeptDocument = new KeptDocument({
    connections: reading,
    keys,
    present: () => ({ outbound: settings.outbound, dnsChanges }),
    fresh: () => follower.fresh('state'),
    seen: () => follower.status().seen,
    registeredAt: (accessKey) => replica.registeredAt(accessKey),
    refused: (reason) => log.warn({ reason }, 'the configuration has no place for a change'),
  });
  const replica: Replica = createReplica(keys, keptDocument);
  const listeners: ((reason: ChangeReason) => void)[] = [];
  const seen = () => follower.status().seen;
  let settings: BackendSettings = readSettings({});
  let dnsChanges: readonly DnsChange[] = [];
  let hints: Hints | null = null;
  let isClosed = false;

  const follower = new Follower({
    connections: {
      ...reading,
      renew() {
        for (const each of Object.values(opened)) each.renew();
      },
    },
    replica,
    followed: {
      settings(stored) {
        dnsChanges = [stored.dnsFirst ?? {}, stored.dnsChange ?? {}].map(readDnsChange);
        become(readSettings(stored));
      },
      audit: (entries) => audit.take(entries),
      sessions: (followed, are) => (are === 'all' ? sessions.replaceAll(followed) : sessions.take(followed)),
    },
    clock,
    jitter,
    log,
    ...(options.pollMilliseconds === undefined ? {} : { pollMilliseconds: options.pollMilliseconds }),
    ...(options.lookUpMilliseconds === undefined ? {} : { lookUpMilliseconds: options.lookUpMilliseconds }),
    ...(options.observe === undefined ? {} : { observe: options.observe }),
    ...(progress === undefined ? {} : { progress: (count: number) => progress.show(`${count} keys read`) }),
  });

  /** Into a state that this Keyway must not serve it writes nothing. */
  function writesOver(connections: Connections, operation: 'write' | 'batch'): Writes {
    const sent = createWrites({ connections, asking, seen, clock, random, log });
    return {
      ...sent,
      async write(statement, patience) {
        const { refusal: reason } = follower.status();
        if (reason !== null) return { kind: 'nothing', reason, sqlState: null };
        const began = clock.monotonic();
        const written = await sent.write(statement, patience);
        options.observe?.(operation, clock.monotonic() - began);
        return written;
      },
    };
  }
  const writes = writesOver(writing, 'write');
  const batches = writesOver(batching, 'batch');
  const own = new OwnWrites({ writes, follower, committed: () => hints?.changed(), clock, jitter, log });

  /** Rejects where what is in memory is older than it may be. */
  function expectYoungerThan(limit: number): void {
    if (!follower.isFailing()) return;
    const { age, refusal } = follower.status();
    if (age < limit) return;
    const reason = refusal ?? `the database has not answered for ${Math.floor(age / 1000)} seconds`;
    throw new DomainError('backendAway', reason, 1);
  }

  async function lookUp(): Promise<void> {
    try {
      await follower.lookUp();
    } catch {
      throw new DomainError('backendAway', TO_STRANGERS, 1);
    }
  }

  /** A key that is not known here may have been made by another gateway a moment ago. */
  function find(accessKey: string, limit: number): MaybeAsync<KeyEntry | undefined> {
    expectYoungerThan(limit);
    return keys.get(accessKey) ?? lookUp().then(() => keys.get(accessKey));
  }

  const shared = {
    change: (statement: WriteStatement) => own.save(statement, 'backendAway'),
    lookUp,
    clock,
    random,
  };
  const sessions = createSharedSessions(shared);
  const audit = createSharedAudit(shared, () => expectYoungerThan(stale));

  function become(next: BackendSettings): void {
    settings = next;
    for (const listener of listeners) {
      try {
        listener('edited');
      } catch (error) {
        log.error({ reason: failureWords(error) }, 'a change of the configuration could not be followed');
      }
    }
  }

  await follower.start();
  progress?.clear();

  const counting: Counting = createCounting({
    gateway,
    writes: batches,
    incarnation: replica.incarnation,
    reloads: () => follower.status().reloads,
    unknownOf: async (batch) => (await reading.run(unknownOf(batch), DEADLINE))[0]?.[0]?.[0] ?? null,
    seen,
    counted: (batch) => follower.counted(batch),
    addUnread: replica.addUnread,
    clock,
    jitter,
    log,
  });
  const document = new DatabaseDocument({
    connections: reading,
    writes: own,
    keys,
    kept: keptDocument,
    showing: () => own.showing(),
    guard: options.guard ?? false,
    clock,
    random,
    log,
  });
  if (options.listens !== false)
    hints = startHints({
      connections: reading,
      listenUrl: options.listenUrl ?? options.url,
      gateway,
      onHint: follower.hint,
      clock,
      jitter,
      log,
    });
  const heartbeat = new Heartbeat({
    connections: reading,
    gateway,
    keepGone,
    isTaken() {
      for (const each of [writes, batches]) each.othersAreTaken();
    },
    jitter,
    log,
    ...(options.heartbeatMilliseconds === undefined ? {} : { milliseconds: options.heartbeatMilliseconds }),
  });
  /** Why changes or reports are not taken, although reads may be answered; null where they are. */
  const refusesWrites = (): string | null => writes.refusal() ?? batches.refusal() ?? heartbeat.refusal;

  const live: LiveReads = {
    key: (accessKey) => find(accessKey, stale),
    status() {
      expectYoungerThan(stale);
      return { active: keys.active, total: keys.size, uptimeSeconds: null };
    },
    rules() {
      expectYoungerThan(stale);
      return settings.outbound?.rules ?? [];
    },
    dns() {
      expectYoungerThan(stale);
      return settings.dns;
    },
    queries: null,
  };

  /** A stranger's key is no reason to take a number from the database. */
  function known(accessKey: string, then: () => Promise<void>): Promise<void> {
    const found = keys.get(accessKey) ?? lookUp().then(() => keys.get(accessKey));
    const go = (entry: KeyEntry | undefined) =>
      entry === undefined ? Promise.reject(new DomainError('userNotFound')) : then();
    return Promise.resolve(mapMaybeAsync(found, go)).catch((error: unknown) => {
      throw error instanceof DomainError && error.code === 'backendAway' ? new DomainError('saveFailed') : error;
    });
  }

  return {
    keys,
    settings: () => settings,
    onChange: (listener) => {
      listeners.push(listener);
    },
    async createKey(key) {
      refuseUnfit(key);
      await own.createKey(key);
    },
    async createBareKeys(made) {
      await own.save(WRITES.createKeys(made, false));
      return made.map(({ accessKey }) => accessKey);
    },
    async updateKey(accessKey: string, update: KeyUpdate) {
      refuseUnfit({ accessKey: '', name: update.name ?? null });
      if (accessKey.includes('\0')) throw new DomainError('userNotFound');
      await known(accessKey, () => own.saveKey(accessKey, WRITES.updateKey(accessKey, update)));
    },
    deleteKey: (accessKey) => known(accessKey, () => own.saveKey(accessKey, WRITES.deleteKey(accessKey))),
    resetKey: (accessKey) => known(accessKey, () => own.saveKey(accessKey, WRITES.resetKey(accessKey))),
    replaceRules: (rules) => own.save(WRITES.replaceRules(withoutNul(rules, 'rules'))),
    changeDns: (dns) => own.save(WRITES.changeDns(withoutNul(storedDns(dns), 'dns'))),
    async count(report, acknowledgement) {
      const isUnknown = ({ accessKey }: { readonly accessKey: string }) => keys.get(accessKey) === undefined;
      if (acknowledgement === 'memory' && report.entries.some(isUnknown)) await lookUp();
      withoutNul(report.id, 'report_id');
      const unfit = report.entries.flatMap(({ accessKey }) => (accessKey.includes('\0') ? [accessKey] : []));
      if (unfit.length === 0) return counting.count(report, acknowledgement);
      // Keys that the database cannot hold are not registered.
      const entries = report.entries.filter(({ accessKey }) => !unfit.includes(accessKey));
      const outcome = await counting.count({ ...report, entries }, acknowledgement);
      return { ...outcome, unknownKeys: [...outcome.unknownKeys, ...new Set(unfit)] };
    },
    // The bases of a source would have to be the gateways' in common.
    // The bases of posts are kept in a data folder, which several gateways do not share.
    async countPosted() {
      throw new DomainError('countedElsewhere', NO_POSTS);
    },
    document,
    audit,
    sessions: sessions.of,
    live,
    replica: {
      stale: () => null,
      freshen: () => expectYoungerThan(stale),
      lastKnown: () => expectYoungerThan(LAST_KNOWN),
      find: (accessKey) => find(accessKey, LAST_KNOWN),
    },
    refreshBlocklists: null,
    async problems(): Promise<readonly Problem<keyof typeof DATABASE_PROBLEMS>[]> {
      const { age, failure, refusal } = follower.status();
      const refused = refusesWrites();
      if (failure === null) return refused === null ? [] : [{ problem: 'database_refuses_writes', reason: refused }];
      const since = `${Math.floor(age / 1000)} seconds`;
      const reason = refusal ?? `the database has not answered for ${since}: ${failure}`;
      return [{ problem: 'database_away', reason }];
    },
    status: () => ({
      ...follower.status(),
      counting: counting.status(),
      isListening: hints?.isListening() ?? false,
      connections: {
        asking: asking.use(),
        reading: reading.use(),
        writing: writing.use(),
        batching: batching.use(),
      },
      figures: heartbeat.figures,
      writes: own.counts,
    }),
    async close() {
      if (isClosed) return;
      isClosed = true;
      heartbeat.stop();
      keptDocument.close();
      await counting.close();
      await follower.stop();
      await heartbeat.leave();
      await hints?.close();
      await closeAll(opened);
    },
  };
}

/** The kept versions of the configuration, oldest first. Rejects with an `Error` for people. */
export async function listDatabaseVersions(url: string): Promise<readonly KeptVersion[]> {
  const connections = openConnections({ url, most: 1 });
  try {
    const { problem } = await readSchema(connections);
    if (problem !== null) throw new Error(problem);
    return await readVersions(connections);
  } finally {
    await connections.close();
  }
}

function refuseUnfit({ accessKey, name }: Pick<AccessKey, 'accessKey' | 'name'>): void {
  const problem = textProblem(accessKey, name);
  if (problem !== null) throw new DomainError('invalidBody', problem);
}
