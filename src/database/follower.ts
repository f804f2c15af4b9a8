import { setImmediate } from 'node:timers/promises';
import type { AuditEntry } from '../core/model.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { inTurns } from '../core/steps.js';
import { createTurns } from '../core/turns.js';
import {
  type Changes,
  type Heads,
  readAuditRow,
  readChanges,
  readHeads,
  readSession,
  UnfitDatabase,
} from './changes.js';
import { type Connections, type Row, StatementError } from './connection.js';
import type { Jitter } from './jitter.js';
import {
  type ConnectionsRow,
  type KeyRow,
  type Replica,
  readConnectionsRow,
  readCountersRow,
  readKeyRow,
  type UsedRow,
} from './replica.js';
import type { StoredSettings } from './server-settings.js';
import type { FollowedSession } from './shared.js';
import {
  changesSince,
  connectionsOfGateways,
  HEADS,
  LOAD,
  type Looked,
  type Seen,
  type UsageBatch,
} from './statements.js';

/** What of the state is followed besides keys. */
export interface Followed {
  /** The configuration but for keys changed; `number` is the write's. */
  settings(settings: StoredSettings, number: bigint): void;
  /** Newest first. */
  audit(entries: readonly AuditEntry[]): void;
  /** Those that changed, or all that there are. */
  sessions(sessions: readonly FollowedSession[], are: 'changed' | 'all'): void;
}

/** Keeps what is in memory with the database: all of what was committed up to one moment, and nothing else. */
export interface Follower {
  /**
   * Resolves once what was committed before the call is in memory, by one look for all who ask meanwhile. A look for less
   * waits for none for more.
   */
  fresh(what: Looked): Promise<void>;
  /**
   * Resolves once a batch that this gateway has committed is in memory, without a look where it was counted onto what is
   * there. Null for one of which no more is known.
   */
  counted(batch: CountedBatch | null): Promise<void>;
  /**
   * Takes the key that a write of this gateway has left as it told. False where it did not tell, or something else came in
   * between: then whoever wrote must look.
   */
  wrote(write: KeyWrite): boolean;
  /** As `fresh`, for strangers' questions: so many looks a second at most. */
  lookUp(): Promise<void>;
  /** Somebody says that the state has changed. */
  hint(): void;
  /** Whether the last look failed. */
  isFailing(): boolean;
  status(): FollowerStatus;
  stop(): Promise<void>;
}

export interface KeyWrite {
  readonly number: bigint;
  readonly mark: string;
  /** The mark of what was in memory when it was written. */
  readonly seenMark: string;
  /** As `withKey` has it. */
  readonly key: Row;
}

export interface CountedBatch {
  readonly number: bigint;
  readonly mark: string;
  /** What was in memory when it was written. */
  readonly seen: UsageBatch['seen'];
  /** Whether it was counted onto just that. */
  readonly follows: boolean;
  readonly used: readonly UsedRow[];
  /** Whether it changed connections. */
  readonly hasConnections: boolean;
}

export interface FollowerStatus {
  /** Milliseconds since the moment whose state is in memory. */
  readonly age: number;
  /** Why the last look failed; null after one that did not. */
  readonly failure: string | null;
  /** The same where the database answers, and this Keyway must not serve what it holds. */
  readonly refusal: string | null;
  readonly seen: Seen;
  /** Which state it is; another in another database. */
  readonly identity: string;
  /** Counts since the start. */
  readonly looks: number;
  readonly reloads: number;
}

export interface FollowerOptions {
  readonly connections: Pick<Connections, 'run' | 'session' | 'renew'>;
  readonly replica: Replica;
  readonly followed: Followed;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
  /** Milliseconds between two looks, half as long at the least and half as long again at most. */
  readonly pollMilliseconds?: number;
  /** Milliseconds between looks for strangers' sake; default 25. */
  readonly lookUpMilliseconds?: number;
  readonly progress?: (keys: number) => void;
  readonly observe?: DurationsObserver;
}

/** Is told how long what was asked of the database took, in milliseconds. */
export type DurationsObserver = (operation: 'look' | 'write' | 'batch', milliseconds: number) => void;

const POLL = 400;
/** Milliseconds. */
const LOOK_DEADLINE = 5_000;
const LOAD_DEADLINE = 60_000;
const MOST_BACKOFF = 1_500;
/** Counters that are taken in one go; others are answered meanwhile. */
const SLICE = 2_000;
/** Between looks for strangers' sake. */
const LOOK_UP = 25;
const AWAY = 'the database does not answer; what was last known is served meanwhile';
const UNFIT = 'the database is not one that this Keyway may use; what was last known is served meanwhile';
const KINDS: readonly Looked[] = ['state', 'connections', 'all'];

/** Loads everything, and follows. Rejects with `StatementError` where the first load fails. */
export async function startFollower(options: FollowerOptions): Promise<Follower> {
  const { connections, replica, followed, clock, log, pollMilliseconds = POLL, lookUpMilliseconds = LOOK_UP } = options;
  let seen: Seen = {
    ...{ state: -1n, stateMark: '', counters: -1n, countersMark: '', connections: -1n, connectionsMark: '' },
    document: -1n,
  };
  let goodAt = clock.monotonic();
  let failure: string | null = null;
  let refusal: string | null = null;
  let identity = '';
  let failures = 0;
  let looks = 0;
  let reloads = 0;
  let gateways: Heads['gateways'] = new Map();
  let loading: Promise<void> | null = null;
  /** One look of a kind at a time. */
  const turns = createTurns();
  const next = new Map<Looked, Promise<void>>();
  let timer: NodeJS.Timeout | null = null;
  let isStopped = false;

  /** Reads everything anew, once for all who find that they must. */
  function reload(): Promise<void> {
    loading ??= load(false)
      .then(() => {
        reloads += 1;
        log.info({}, 'everything was read anew from the database');
      })
      .finally(() => {
        loading = null;
      });
    return loading;
  }

  /** Reads everything from one snapshot. Only a first load may show what it has before it has all. */
  async function load(isFirst: boolean): Promise<void> {
    await connections.session(async (run) => {
      const one = async (text: string): Promise<readonly Row[]> => (await run(text, LOAD_DEADLINE))[0] ?? [];
      await one(LOAD.begin);
      const heads = readHeads(await one(HEADS));
      await one(LOAD.declare);
      const all: KeyRow[] = [];
      for (let count = 0; ; ) {
        const rows = await one(LOAD.fetch);
        if (rows.length === 0) break;
        count += rows.length;
        options.progress?.(count);
        if (isFirst) replica.takeKeys(rows.map(readKeyRow));
        else for (const row of rows) all.push(readKeyRow(row));
      }
      const others = {
        connected: (await one(LOAD.connections)).map(readConnectionsRow),
        settings: await one(LOAD.settings),
      };
      const [[id = null] = []] = await one(LOAD.identity);
      const sessions = await one(LOAD.sessions);
      const audit = await one(LOAD.audit);
      await one(LOAD.commit);
      if (isFirst) replica.takeConnections(others.connected);
      else await inTurns(replica.replaceAll(all, others.connected));
      followed.sessions(sessions.map(readSession), 'all');
      takeOthers(others.settings, audit);
      gateways = heads.gateways;
      seen = heads.seen;
      identity = id ?? '';
    });
  }

  function takeOthers(settings: readonly Row[], audit: readonly Row[]): void {
    for (const [name, value, number] of settings) {
      if (name === 'server') followed.settings(JSON.parse(value ?? '{}') as StoredSettings, BigInt(number ?? 0));
      else followed.audit(audit.map(readAuditRow));
    }
  }

  async function look(read: () => Promise<void>): Promise<void> {
    const began = clock.monotonic();
    looks += 1;
    try {
      await read();
      options.observe?.('look', clock.monotonic() - began);
      goodAt = began;
      if (failure !== null) log.info({}, 'the database answers again');
      failure = null;
      refusal = null;
      failures = 0;
    } catch (error) {
      failures += 1;
      const words = error instanceof Error ? error.message : String(error);
      const isUnfit = error instanceof UnfitDatabase;
      if (failure === null || isUnfit !== (refusal !== null)) log.error({ reason: words }, isUnfit ? UNFIT : AWAY);
      failure = words;
      refusal = isUnfit ? words : null;
      // After a fail-over the name may have led to the wrong one for a moment.
      if (isUnfit) connections.renew();
      throw error;
    }
  }

  async function readNews(what: Looked): Promise<void> {
    while (!(await follow(what)));
  }

  /** Asks whether there is anything new before it asks for it. */
  async function poll(): Promise<void> {
    await loading;
    const [rows] = await connections.run(HEADS, LOOK_DEADLINE);
    const { seen: now, gateways: heard } = readHeads(rows);
    const isSame =
      now.stateMark === seen.stateMark &&
      now.countersMark === seen.countersMark &&
      now.connectionsMark === seen.connectionsMark &&
      changedGateways(heard).length === 0;
    if (!isSame) await readNews('all');
  }

  /** False where it must be looked again, since what is in memory has meanwhile become newer than what was read. */
  async function follow(what: Looked): Promise<boolean> {
    await loading;
    const before = { seen, reloads };
    const isAnew = () => loading !== null || reloads !== before.reloads;
    const answers = await connections.run(changesSince(seen, what), LOOK_DEADLINE);
    if (isAnew()) return false;
    const changes = readChanges(answers);
    if (!changes.isKnown) {
      const lost = 'the database has lost writes that it had, or is another one: everything is read anew';
      log.warn({ state: `${before.seen.state}`, counters: `${before.seen.counters}` }, lost);
    }
    const { heads } = changes;
    if (!changes.isKnown || changes.areTooMany || (what === 'all' && isForgotten(heads.gateways))) {
      await reload();
      return true;
    }
    const { connectionsMark: markBefore } = seen;
    const others = what === 'all' ? await connectionsOfChanged(heads.gateways) : [];
    if (others.length > 0 && seen.connectionsMark !== markBefore) return false;
    if (isAnew() || (what === 'state' && heads.seen.connections < seen.connections)) return false;
    takeState(changes);
    // In slices: whatever comes between is newer, and a row is taken only over an older one.
    for (let from = 0; from < changes.counters.length; from += SLICE) {
      if (from > 0) await setImmediate();
      if (isAnew()) return false;
      replica.takeCounters(changes.counters.slice(from, from + SLICE).map(readCountersRow));
    }
    if (what === 'all') {
      const { counters, countersMark } = heads.seen;
      if (counters >= seen.counters) seen = { ...seen, counters, countersMark };
      gateways = heads.gateways;
    }
    if (heads.seen.connections >= seen.connections) {
      replica.takeConnections(changes.connected.map(readConnectionsRow));
      const { connections, connectionsMark } = heads.seen;
      if (what !== 'state') seen = { ...seen, connections, connectionsMark };
    }
    replica.takeConnections(others);
    return true;
  }

  function takeState({ heads, keys, sessions, settings, audit }: Changes): void {
    const { state, stateMark, document } = heads.seen;
    // Of the same state what is in memory may be newer: what was counted of its keys.
    if (state <= seen.state) return;
    replica.takeKeys(keys.map(readKeyRow));
    if (sessions.length > 0) followed.sessions(sessions.map(readSession), 'changed');
    takeOthers(settings, audit);
    seen = { ...seen, state, stateMark, document };
  }

  /** Those that fell silent, are heard of again, or were forgotten. */
  const changedGateways = (now: Heads['gateways']): readonly string[] =>
    [...gateways].flatMap(([id, { isHeardOf, since }]) =>
      now.get(id)?.isHeardOf === isHeardOf && now.get(id)?.since === since ? [] : [id],
    );

  /** Whether one was forgotten whose connections count here: nobody can tell any more of which keys. */
  const isForgotten = (now: Heads['gateways']): boolean =>
    [...gateways].some(([id, { isHeardOf, since }]) => isHeardOf && now.get(id)?.since !== since);

  async function connectionsOfChanged(now: Heads['gateways']): Promise<readonly ConnectionsRow[]> {
    const changed = changedGateways(now);
    if (changed.length === 0) return [];
    const [rows = []] = await connections.run(connectionsOfGateways(changed), LOOK_DEADLINE);
    return rows.map(readConnectionsRow);
  }

  async function counted(batch: CountedBatch | null): Promise<void> {
    const isNext = batch?.follows && loading === null && seen.countersMark === batch.seen.countersMark;
    if (!isNext || !replica.addUsage(batch.used, Number(batch.number), Number(batch.seen.state))) return fresh('all');
    const { number: counters, mark: countersMark } = batch;
    const knowsConnections = !batch.hasConnections && seen.connections === seen.counters;
    seen = { ...seen, counters, countersMark };
    if (knowsConnections) seen = { ...seen, connections: counters, connectionsMark: countersMark };
    if (batch.hasConnections) await fresh('connections');
  }

  function wrote({ number, mark, seenMark, key }: KeyWrite): boolean {
    if (key[0] == null || loading !== null || seen.stateMark !== seenMark) return false;
    replica.takeKeys([readKeyRow(key)]);
    seen = { ...seen, state: number, stateMark: mark };
    return true;
  }

  function schedule(): void {
    if (isStopped || timer !== null) return;
    const pause = failures === 0 ? pollMilliseconds : Math.min(MOST_BACKOFF, pollMilliseconds * failures);
    timer = setTimeout(() => {
      timer = null;
      const polled = turns.take('all', () => look(poll).finally(schedule));
      polled.catch(() => undefined);
    }, options.jitter(pause));
  }

  function fresh(what: Looked): Promise<void> {
    if (isStopped) return Promise.reject(new StatementError('not sent', 'Keyway is shutting down'));
    const present = next.get(what);
    if (present !== undefined) return present;
    const coming = turns.take(what, async () => {
      // Even where nothing is under way: whoever asks in this turn shares it.
      await Promise.resolve();
      next.delete(what);
      if (timer !== null && what === 'all') clearTimeout(timer);
      if (what === 'all') timer = null;
      await look(() => readNews(what)).finally(schedule);
    });
    next.set(what, coming);
    return coming;
  }

  let asked: Promise<void> | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  await load(true);
  schedule();
  return {
    fresh,
    counted,
    wrote,
    lookUp() {
      const wait = askedAt + lookUpMilliseconds - clock.monotonic();
      const ask = () => {
        askedAt = clock.monotonic();
        asked = null;
        return fresh('state');
      };
      if (wait <= 0) return ask();
      asked ??= new Promise((resolve) => setTimeout(resolve, wait)).then(ask);
      return asked;
    },
    hint() {
      if (!isStopped) fresh('state').catch(() => undefined);
    },
    isFailing: () => failure !== null,
    status: () => ({ age: clock.monotonic() - goodAt, failure, refusal, seen, identity, looks, reloads }),
    async stop() {
      isStopped = true;
      if (timer !== null) clearTimeout(timer);
      await Promise.all(KINDS.map((kind) => turns.take(kind, async () => undefined)));
    },
  };
}
