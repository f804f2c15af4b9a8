import type { AuditEntry } from '../core/model.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { createTurns } from '../core/turns.js';
import { type Connections, type Row, StatementError } from './connection.js';
import type { Jitter } from './jitter.js';
import {
  type ConnectionsRow,
  type KeyRow,
  type Replica,
  readConnectionsRow,
  readCountersRow,
  readKeyRow,
} from './replica.js';
import { schemaProblem } from './schema.js';
import type { StoredSettings } from './server-settings.js';
import type { FollowedSession } from './shared.js';
import { changesSince, connectionsOfGateways, LOAD, MOST_CHANGED, type Seen } from './statements.js';

/** What of the state is followed besides keys. */
export interface Followed {
  /** The configuration but for keys changed; `number` is the write's. */
  settings(settings: StoredSettings, number: bigint): void;
  /** Newest first. */
  audit(entries: readonly AuditEntry[]): void;
  /** Those that changed, or all that there are. */
  sessions(sessions: readonly FollowedSession[], are: 'changed' | 'all'): void;
}

/** What is looked for. */
export type Looked = 'all' | 'state';

/** Keeps what is in memory with the database: all of what was committed up to one moment, and nothing else. */
export interface Follower {
  /**
   * Resolves once what was committed before the call is in memory, by one look for all who ask meanwhile: all of it, or all
   * but what was counted, which may be a thousand times as much.
   */
  fresh(what: Looked): Promise<void>;
  /** As `fresh`, for strangers' questions: so many looks a second at most. */
  lookUp(): Promise<void>;
  /** Somebody says that there is something new. */
  hint(): void;
  status(): FollowerStatus;
  stop(): Promise<void>;
}

export interface FollowerStatus {
  /** Milliseconds since the moment whose state is in memory. */
  readonly age: number;
  /** Why the last look failed; null after one that did not. */
  readonly failure: string | null;
  /** The same where the database answers, and this Keyway must not serve what it holds. */
  readonly refusal: string | null;
  readonly seen: Seen;
  /** Counts since the start. */
  readonly looks: number;
  readonly reloads: number;
}

export interface FollowerOptions {
  readonly connections: Pick<Connections, 'run' | 'session'>;
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
}

const POLL = 400;
/** Milliseconds. */
const LOOK_DEADLINE = 5_000;
const LOAD_DEADLINE = 60_000;
const MOST_BACKOFF = 1_500;
/** Between looks for strangers' sake. */
const LOOK_UP = 25;
const AWAY = 'the database does not answer; what was last known is served meanwhile';
const UNFIT = 'the database is not one that this Keyway may use; what was last known is served meanwhile';

/** Loads everything, and follows. Rejects with `StatementError` where the first load fails. */
export async function startFollower(options: FollowerOptions): Promise<Follower> {
  const { connections, replica, followed, clock, log, pollMilliseconds = POLL, lookUpMilliseconds = LOOK_UP } = options;
  let seen: Seen = { state: -1n, stateMark: '', counters: -1n, countersMark: '' };
  let goodAt = clock.monotonic();
  let failure: string | null = null;
  let refusal: string | null = null;
  let failures = 0;
  let looks = 0;
  let reloads = 0;
  let gateways = new Map<string, boolean>();
  /** One look at a time: what is read first is taken first. */
  const turns = createTurns();
  const next = new Map<Looked, Promise<void>>();
  let timer: NodeJS.Timeout | null = null;
  let isStopped = false;

  /** Reads everything from one snapshot. Only a first load may show what it has before it has all. */
  async function load(isFirst: boolean): Promise<void> {
    await connections.session(async (run) => {
      const one = async (text: string): Promise<readonly Row[]> => (await run(text, LOAD_DEADLINE))[0] ?? [];
      await one(LOAD.begin);
      const heads = readHeads(await one(LOAD.heads));
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
      const sessions = await one(LOAD.sessions);
      const audit = await one(LOAD.audit);
      await one(LOAD.commit);
      if (!isFirst) replica.replaceAll(all);
      replica.takeConnections(others.connected);
      followed.sessions(sessions.map(readSession), 'all');
      takeOthers(others.settings, audit);
      gateways = heads.gateways;
      seen = heads.seen;
    });
  }

  function takeOthers(settings: readonly Row[], audit: readonly Row[]): void {
    for (const [name, value, number] of settings) {
      if (name === 'server') followed.settings(JSON.parse(value ?? '{}') as StoredSettings, BigInt(number ?? 0));
      else followed.audit(audit.map(readAuditRow));
    }
  }

  async function look(what: Looked): Promise<void> {
    const began = clock.monotonic();
    looks += 1;
    try {
      if (!(await follow(what))) {
        reloads += 1;
        await load(false);
        log.info({}, 'everything was read anew from the database');
      }
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
      throw error;
    }
  }

  /** False where what was seen is not in the database's past, or too much came since. */
  async function follow(what: Looked): Promise<boolean> {
    const answers = await connections.run(changesSince(seen, what), LOOK_DEADLINE);
    const [, heads, known, keys = [], settings = [], sessions = [], audit = [], counters = [], connected = []] =
      answers;
    const now = readHeads(heads);
    if (known?.[0]?.[0] !== '2') {
      const what = 'the database has lost writes that it had, or is another one: everything is read anew';
      log.warn({ state: `${seen.state}`, counters: `${seen.counters}` }, what);
      return false;
    }
    if (keys.length > MOST_CHANGED) return false;
    const silenced = [...now.gateways].flatMap(([id, isHeardOf]) =>
      gateways.has(id) && gateways.get(id) !== isHeardOf ? [id] : [],
    );
    const gone = [...gateways.keys()].filter((id) => !now.gateways.has(id));
    const changed = [...silenced, ...gone];
    const others: readonly ConnectionsRow[] = changed.length === 0 ? [] : await connectionsTold(connections, changed);
    replica.takeKeys(keys.map(readKeyRow));
    replica.takeCounters(counters.map(readCountersRow));
    replica.takeConnections(connected.map(readConnectionsRow));
    replica.takeConnections(others);
    if (sessions.length > 0) followed.sessions(sessions.map(readSession), 'changed');
    takeOthers(settings, audit);
    gateways = now.gateways;
    const { counters: last, countersMark } = seen;
    seen = what === 'all' ? now.seen : { ...now.seen, counters: last, countersMark };
    return true;
  }

  function schedule(): void {
    if (isStopped || timer !== null) return;
    const pause = failures === 0 ? pollMilliseconds : Math.min(MOST_BACKOFF, pollMilliseconds * failures);
    timer = setTimeout(() => {
      timer = null;
      fresh('all').catch(() => undefined);
    }, options.jitter(pause));
  }

  function fresh(what: Looked): Promise<void> {
    if (isStopped) return Promise.reject(new StatementError('not sent', 'Keyway is shutting down'));
    const present = next.get(what);
    if (present !== undefined) return present;
    const coming = turns.take('look', async () => {
      // Even where nothing is under way: whoever asks in this turn shares it.
      await Promise.resolve();
      next.delete(what);
      if (timer !== null && what === 'all') clearTimeout(timer);
      if (what === 'all') timer = null;
      await look(what).finally(schedule);
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
      if (!isStopped) fresh('all').catch(() => undefined);
    },
    status: () => ({ age: clock.monotonic() - goodAt, failure, refusal, seen, looks, reloads }),
    async stop() {
      isStopped = true;
      if (timer !== null) clearTimeout(timer);
      await turns.take('look', async () => undefined);
    },
  };
}

async function connectionsTold(connections: Pick<Connections, 'run'>, ids: readonly string[]) {
  const [rows = []] = await connections.run(connectionsOfGateways(ids), LOOK_DEADLINE);
  return rows.map(readConnectionsRow);
}

class UnfitDatabase extends StatementError {
  constructor(message: string) {
    super('refused', message);
  }
}

/** Rejects a standby, whose state is behind and which takes no writes, and a schema that is another Keyway's. */
function readHeads(rows: readonly Row[] | undefined) {
  const [state, stateMark, counters, countersMark, isStandby, schema, gateways] = rows?.[0] ?? [];
  if (state == null || stateMark == null || counters == null || countersMark == null || schema == null)
    throw new UnfitDatabase('the database holds no state of a Keyway');
  if (isStandby === 't') throw new UnfitDatabase('the database is a standby, which takes no writes');
  const [version = 0, servesFrom = 0] = schema.split(' ').map(Number);
  const problem = schemaProblem(version, servesFrom);
  if (problem !== null) throw new UnfitDatabase(problem);
  const heard = (gateways ?? '').split(',').flatMap((told): [string, boolean][] => {
    const [id = '', isHeardOf] = told.split(' ');
    return id === '' ? [] : [[id, isHeardOf === 'true']];
  });
  return {
    seen: { state: BigInt(state), stateMark, counters: BigInt(counters), countersMark },
    gateways: new Map(heard),
  };
}

function readSession([api, digest = null, number]: Row): FollowedSession {
  return { api: api ?? '', digest, number: BigInt(number ?? 0) };
}

function readAuditRow([id, time, eventEn, eventRu, success]: Row): AuditEntry {
  return { id: id ?? '', time: time ?? '', eventEn: eventEn ?? '', eventRu: eventRu ?? '', success: success === 't' };
}
