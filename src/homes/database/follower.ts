import { setImmediate } from 'node:timers/promises';
import type { RecordChange } from '../../core/kept-records.js';
import type { AskedKeys } from '../../core/keys/types.js';
import type { AuditEntry } from '../../core/model.js';
import type { ProgressPort } from '../../core/ports.js';
import { inTurns, pieces, type Steps } from '../../core/steps.js';
import { type Changes, type Heads, readAuditRow, readChanges, readHeads, readRecord, readSession } from './changes.js';
import type { Connections, Row } from './connection.js';
import { Looks, type LooksOptions, type LooksStatus } from './looks.js';
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
  isLost,
  LOAD,
  type Looked,
  type Seen,
  type UsageBatch,
} from './statements.js';

/** Receives the parts of the state other than keys. */
export interface Followed {
  /** Takes a changed configuration without its keys; `isPut`: it was replaced as a whole. */
  settings(settings: StoredSettings, isPut: boolean): void;
  /** Takes the audit list, newest first. */
  audit(entries: readonly AuditEntry[]): void;
  /** Takes the sessions that changed, or all of them. */
  sessions(sessions: readonly FollowedSession[], are: 'changed' | 'all'): void;
  /** Takes Keyway's own records that changed, or all of them. */
  records(records: readonly RecordChange[], are: 'changed' | 'all'): void;
}

export interface KeyWrite {
  readonly number: bigint;
  readonly mark: string;
  /** The mark of what was in memory at the time of the write. */
  readonly seenMark: string;
  /** The key's row, as `withKey` selects it. */
  readonly key: Row;
}

export interface CountedBatch {
  readonly number: bigint;
  readonly mark: string;
  /** The state in memory at the time of the write. */
  readonly seen: UsageBatch['seen'];
  /** True if it was counted onto exactly that state. */
  readonly follows: boolean;
  readonly used: readonly UsedRow[];
  readonly hasConnections: boolean;
}

export interface FollowerStatus extends LooksStatus {
  readonly seen: Seen;
  /** The id of the state, which differs in another database. */
  readonly identity: string;
  /** The number of reloads of everything since the start. */
  readonly reloads: number;
}

export interface FollowerOptions extends Omit<LooksOptions, 'poll' | 'read'> {
  readonly connections: Pick<Connections, 'run' | 'session' | 'renew'>;
  /** The id of this gateway. */
  readonly gateway: string;
  readonly replica: Replica;
  readonly followed: Followed;
  readonly progress?: ProgressPort;
  /** The keys that are loaded; null, by default, for all. */
  readonly asked?: AskedKeys | null;
}

/** In milliseconds. */
const LOOK_DEADLINE = 5_000;
const LOAD_DEADLINE = 60_000;
/** Counters that are taken in one turn of the event loop. */
const SLICE = 2_000;
const NOTHING: Seen = {
  ...{ state: -1n, stateMark: '', counters: -1n, countersMark: '', connections: -1n, connectionsMark: '' },
  document: -1n,
};
const LOST = 'the database has lost writes that it had, or is another one: everything is read again';

/** Keeps memory in step with the database: it has everything that was committed up to one moment, and nothing else. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #looks: Looks;
  #seen = NOTHING;
  #identity = '';
  #reloads = 0;
  #gateways: Heads['gateways'] = new Map();
  #loading: Promise<void> | null = null;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#looks = new Looks({ ...options, poll: () => this.#poll(), read: (what) => this.#readNews(what) });
  }

  /** Loads everything, and follows from then on. Rejects with `StatementError`. */
  async start(): Promise<void> {
    await this.#load(true);
    this.#looks.schedule();
  }

  /** Resolves once everything committed before the call is in memory. */
  fresh = (what: Looked): Promise<void> => this.#looks.fresh(what);

  /** Does the same for requests about unknown keys, with a limited number of looks a second. */
  lookUp = (): Promise<void> => this.#looks.lookUp();

  /** Reacts to a hint that the state has changed. */
  hint = (): void => this.#looks.hint();

  /** Tells whether the last look failed. */
  isFailing(): boolean {
    return this.#looks.isFailing();
  }

  status(): FollowerStatus {
    return { ...this.#looks.status(), seen: this.#seen, identity: this.#identity, reloads: this.#reloads };
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Reads everything again, once for all callers who need it. */
  #reload(): Promise<void> {
    this.#loading ??= this.#load(false)
      .then(() => {
        this.#reloads += 1;
        this.#options.log.info({}, 'everything was read again from the database');
      })
      .finally(() => {
        this.#loading = null;
      });
    return this.#loading;
  }

  /** Reads everything from one snapshot. Only the first load may show keys before it has all of them. */
  async #load(isFirst: boolean): Promise<void> {
    await this.#options.connections.session(async (run) => {
      const one = async (text: string): Promise<readonly Row[]> => (await run(text, LOAD_DEADLINE))[0] ?? [];
      await one(LOAD.begin);
      const heads = readHeads(await one(HEADS));
      const [[lost = null] = []] = isFirst ? [] : await one(isLost(this.#seen));
      await one(LOAD.declare(this.#options.asked ?? null));
      const all: KeyRow[] = [];
      for (let count = 0; ; ) {
        const rows = await one(LOAD.fetch);
        if (rows.length === 0) break;
        count += rows.length;
        this.#options.progress?.show(`${count} keys read`);
        if (isFirst) this.#options.replica.takeKeys(rows.map(readKeyRow));
        else for (const row of rows) all.push(readKeyRow(row));
      }
      const connected: ConnectionsRow[] = [];
      await one(LOAD.declareConnections(this.#options.asked ?? null));
      for (;;) {
        const rows = await one(LOAD.fetchConnections);
        if (rows.length === 0) break;
        for (const row of rows) connected.push(readConnectionsRow(row));
      }
      const settings = await one(LOAD.settings);
      const [[id = null] = []] = await one(LOAD.identity);
      const sessions = await one(LOAD.sessions);
      const audit = await one(LOAD.audit);
      const records = await one(LOAD.records);
      await one(LOAD.commit);
      const { state, counters } = this.#seen;
      if (lost === 't' || (!isFirst && id !== this.#identity))
        this.#options.log.warn({ state: `${state}`, counters: `${counters}` }, LOST);
      if (isFirst) this.#options.replica.takeConnections(connected);
      else await inTurns(this.#options.replica.replaceAll(all, connected));
      this.#options.followed.sessions(sessions.map(readSession), 'all');
      this.#options.followed.records(records.map(readRecord), 'all');
      this.#takeOthers(settings, audit, heads.seen);
      this.#gateways = heads.gateways;
      this.#seen = heads.seen;
      this.#identity = id ?? '';
    });
  }

  #takeOthers(settings: readonly Row[], audit: readonly Row[], { document }: Seen): void {
    for (const [name, value] of settings) {
      if (name === 'server')
        this.#options.followed.settings(JSON.parse(value ?? '{}') as StoredSettings, document !== this.#seen.document);
      else this.#options.followed.audit(audit.map(readAuditRow));
    }
  }

  async #readNews(what: Looked): Promise<void> {
    while (!(await this.#follow(what)));
  }

  /** Asks whether there is anything new before reading it. */
  async #poll(): Promise<void> {
    await this.#loading;
    const [rows] = await this.#options.connections.run(HEADS, LOOK_DEADLINE);
    const { seen: now, gateways: heard } = readHeads(rows);
    const isSame =
      now.stateMark === this.#seen.stateMark &&
      now.countersMark === this.#seen.countersMark &&
      now.connectionsMark === this.#seen.connectionsMark &&
      this.#changedGateways(heard).length === 0;
    if (!isSame) await this.#readNews('all');
    // There may be more of them, whose connections, if any, are known.
    else this.#gateways = heard;
  }

  /** Reads what is new. Returns false if it must be repeated, because memory has become newer than what was read. */
  async #follow(what: Looked): Promise<boolean> {
    await this.#loading;
    const before = this.#reloads;
    const isReloaded = () => this.#loading !== null || this.#reloads !== before;
    const answers = await this.#options.connections.run(changesSince(this.#seen, what), LOOK_DEADLINE);
    if (isReloaded()) return false;
    const changes = readChanges(answers);
    const { heads } = changes;
    if (!changes.isKnown || changes.areTooMany || (what === 'all' && this.#isForgotten(heads.gateways))) {
      await this.#reload();
      return true;
    }
    const keys = await inTurns(readKeyRows(changes.keys));
    const { connectionsMark: markBefore } = this.#seen;
    const others = what === 'all' ? await this.#connectionsOfChanged(heads.gateways) : [];
    if (others.length > 0 && this.#seen.connectionsMark !== markBefore) return false;
    if (isReloaded() || (what === 'state' && heads.seen.connections < this.#seen.connections)) return false;
    this.#takeState(changes, keys);
    // In slices: anything that comes between is newer, and a row replaces only an older one.
    for (let from = 0; from < changes.counters.length; from += SLICE) {
      if (from > 0) await setImmediate();
      if (isReloaded()) return false;
      this.#options.replica.takeCounters(changes.counters.slice(from, from + SLICE).map(readCountersRow));
    }
    if (what === 'all') {
      const { counters, countersMark } = heads.seen;
      if (counters >= this.#seen.counters) this.#seen = { ...this.#seen, counters, countersMark };
      this.#gateways = heads.gateways;
    }
    if (heads.seen.connections >= this.#seen.connections) {
      this.#options.replica.takeConnections(changes.connected.map(readConnectionsRow));
      const { connections, connectionsMark } = heads.seen;
      if (what !== 'state') this.#seen = { ...this.#seen, connections, connectionsMark };
    }
    this.#options.replica.takeConnections(others);
    return true;
  }

  #takeState({ heads, sessions, settings, audit, records }: Changes, keys: readonly KeyRow[]): void {
    const { state, stateMark, document } = heads.seen;
    // Memory may be newer than rows of the same state, because of reports counted since.
    if (state <= this.#seen.state) return;
    this.#options.replica.takeKeys(keys);
    if (sessions.length > 0) this.#options.followed.sessions(sessions.map(readSession), 'changed');
    if (records.length > 0) this.#options.followed.records(records.map(readRecord), 'changed');
    this.#takeOthers(settings, audit, heads.seen);
    this.#seen = { ...this.#seen, state, stateMark, document };
  }

  /** Returns the gateways that fell silent, came back, or were forgotten. */
  #changedGateways(now: Heads['gateways']): readonly string[] {
    return [...this.#gateways].flatMap(([id, { isHeardOf, since }]) =>
      now.get(id)?.isHeardOf === isHeardOf && now.get(id)?.since === since ? [] : [id],
    );
  }

  /**
   * Tells whether a gateway with connections here was forgotten, so that their keys are unknown. After a reload this
   * one, heard of or not, tells its own again.
   */
  #isForgotten(now: Heads['gateways']): boolean {
    return [...this.#gateways].some(
      ([id, { isHeardOf, since }]) => (isHeardOf || id === this.#options.gateway) && now.get(id)?.since !== since,
    );
  }

  async #connectionsOfChanged(now: Heads['gateways']): Promise<readonly ConnectionsRow[]> {
    const changed = this.#changedGateways(now);
    if (changed.length === 0) return [];
    const [rows = []] = await this.#options.connections.run(connectionsOfGateways(changed), LOOK_DEADLINE);
    return rows.map(readConnectionsRow);
  }

  /**
   * Resolves once a batch that this gateway has committed is in memory, without a look if it was counted onto what is
   * there. Null for a batch about which nothing more is known.
   */
  async counted(batch: CountedBatch | null): Promise<void> {
    const isNext = batch?.follows && this.#loading === null && this.#seen.countersMark === batch.seen.countersMark;
    if (!isNext || !this.#options.replica.addUsage(batch.used, Number(batch.number), Number(batch.seen.state)))
      return this.fresh('all');
    const { number: counters, mark: countersMark } = batch;
    const knowsConnections = !batch.hasConnections && this.#seen.connections === this.#seen.counters;
    this.#seen = { ...this.#seen, counters, countersMark };
    if (knowsConnections) this.#seen = { ...this.#seen, connections: counters, connectionsMark: countersMark };
    if (batch.hasConnections) await this.fresh('connections');
  }

  /**
   * Takes the key as a write of this gateway has returned it. Returns false if it returned none, or another write came
   * in between: the caller must then look.
   */
  wrote({ number, mark, seenMark, key }: KeyWrite): boolean {
    if (key[0] == null || this.#loading !== null || this.#seen.stateMark !== seenMark) return false;
    this.#options.replica.takeKeys([readKeyRow(key)]);
    this.#seen = { ...this.#seen, state: number, stateMark: mark };
    return true;
  }
}

/** Reads rows in pieces; taking the result is cheaper, and is one step. */
function* readKeyRows(rows: readonly Row[]): Steps<readonly KeyRow[]> {
  const read: KeyRow[] = [];
  for (const some of pieces(rows, SLICE)) {
    if (read.length > 0) yield;
    for (const row of some) read.push(readKeyRow(row));
  }
  return read;
}
