import { setTimeout as pause } from 'node:timers/promises';
import type { Acknowledgement, ReportOutcome, UsageReport } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { MAX_U64 } from '../../core/model.js';
import type { ClockPort, LogPort } from '../../core/ports.js';
import type { CountedBatch } from './follower.js';
import type { Jitter } from './jitter.js';
import { createLane } from './lane.js';
import type { UsedRow } from './replica.js';
import { type Seen, type UsageBatch, WRITES } from './statements.js';
import type { Done, Patience, Writes, Written } from './writes.js';

export interface CountingStatus {
  /** Counts since the start. */
  readonly batches: number;
  readonly entries: number;
  readonly failed: number;
  /** Bytes of reports that are acknowledged and not committed. */
  readonly waitingBytes: number;
}

export interface CountingOptions {
  readonly gateway: string;
  readonly writes: Pick<Writes, 'write'>;
  /** Returns the known incarnation of a key's counters; null for an unknown key. */
  readonly incarnation: (accessKey: string) => number | null;
  /** Counts reloads of everything: after one the database may lack what it was told before. */
  readonly reloads: () => number;
  /** Asks for the places of a committed batch that were not registered, as PostgreSQL writes an array; null where they are forgotten. */
  readonly unknownOf: (batch: bigint) => Promise<string | null>;
  /** Returns the numbers and marks of the state in memory. */
  readonly seen: () => Seen;
  /** Resolves once a committed batch shows; of null nothing is known but that it was committed. */
  readonly counted: (batch: CountedBatch | null) => Promise<void>;
  /** Shows what batch `number` has counted until it can be read. */
  readonly addUnread: (used: readonly UsedRow[], number: number) => void;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
}

/** Entries of a batch: what is committed together holds up other gateways' batches for so long. */
const MOST_ENTRIES = 10_000;
/** Bytes that reports of each acknowledgement may take while they wait for the database. */
export const MOST_WAITING = 64 * 1024 * 1024;
/** Bytes of an entry besides its key. */
const ENTRY_BYTES = 100;
/** Milliseconds. */
const PATIENCE = 10_000;
const LEAST_PATIENCE = 2_000;
const CLOSING_PATIENCE = 5_000;
const AGAIN = 300;
/** The schema's own state for a batch with a report that was counted before. */
const REPEATED = 'KW002';

interface Gathered {
  readonly report: UsageReport;
  readonly bytes: number;
  readonly since: number;
  /** Null for a report that is acknowledged already. */
  readonly answer: { resolve(outcome: ReportOutcome): void; reject(error: Error): void } | null;
  /** Per entry, for a report that counts only as the keys were then. */
  readonly incarnations: readonly (number | null)[] | null;
}

/** Gathers reports and writes them in batches, of which one is on its way at a time. */
export class Counting {
  readonly #options: CountingOptions;
  readonly #status = { batches: 0, entries: 0, failed: 0 };
  /** Bytes. */
  readonly #waiting = { durable: 0, memory: 0 };
  /** Acknowledged reports are tried for as long as Keyway runs. */
  readonly #lasting = { until: Number.POSITIVE_INFINITY };
  readonly #told: ToldConnections;
  #isClosing = false;
  // A report that waits for its commit does not wait for those that nobody waits for.
  readonly #durable = createLane(
    takeBatch,
    this.#leaving('durable', (batch) => this.#writeDurable(this.#withoutLate(batch))),
  );
  readonly #memory = createLane(
    takeBatch,
    this.#leaving('memory', (batch) => this.#writeAcknowledged(batch)),
  );

  constructor(options: CountingOptions) {
    this.#options = options;
    this.#told = createToldConnections(options);
  }

  status(): CountingStatus {
    return { ...this.#status, waitingBytes: this.#waiting.memory };
  }

  /**
   * Resolves once the report is committed, or is gathered where that is all that is asked for. Rejects with `backendAway`
   * where it was not counted, and with `outcomeUnknown` where that could not be found out in time.
   */
  async count(report: UsageReport, acknowledgement: Acknowledgement): Promise<ReportOutcome> {
    if (this.#isClosing) throw new DomainError('backendAway', 'Keyway is shutting down');
    const bytes = report.entries.reduce((sum, { accessKey }) => sum + ENTRY_BYTES + accessKey.length, 0);
    if (this.#waiting[acknowledgement] + bytes > MOST_WAITING)
      throw new DomainError('backendAway', 'too many reports wait for the database');
    this.#waiting[acknowledgement] += bytes;
    const gathered = { report, bytes, since: this.#options.clock.monotonic() };
    if (acknowledgement === 'durable')
      return new Promise((resolve, reject) =>
        this.#durable.add({ ...gathered, answer: { resolve, reject }, incarnations: null }),
      );
    const incarnations = report.entries.map(({ accessKey }) => this.#options.incarnation(accessKey));
    const unknown = report.entries.flatMap(({ accessKey }, at) => (incarnations[at] === null ? [accessKey] : []));
    this.#memory.add({ ...gathered, answer: null, incarnations });
    return { repeated: false, unknownKeys: [...new Set(unknown)], durability: 'memory' };
  }

  /** Writes what is gathered; gives up after some seconds. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#lasting.until = this.#options.clock.monotonic() + CLOSING_PATIENCE;
    await Promise.all([this.#durable.idle(), this.#memory.idle()]);
  }

  /** Subtracts the bytes of a batch once it is written. */
  #leaving(acknowledgement: Acknowledgement, write: (batch: readonly Gathered[]) => Promise<void>) {
    return async (batch: readonly Gathered[]): Promise<void> => {
      await write(batch);
      this.#waiting[acknowledgement] -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
    };
  }

  async #writeBatch(batch: readonly Gathered[], patience: Patience) {
    const { made, committed } = makeBatch(batch, {
      gateway: this.#options.gateway,
      seen: this.#options.seen(),
      told: this.#told,
    });
    const written = await this.#options.writes.write(WRITES.countUsage(made), patience);
    if (written.kind === 'done') {
      this.#status.batches += 1;
      this.#status.entries += batch.reduce((sum, { report }) => sum + report.entries.length, 0);
      committed();
    } else this.#status.failed += 1;
    return { written, made };
  }

  /** Refuses those that have waited for as long as they may: none of them was sent. */
  #withoutLate(batch: readonly Gathered[]): readonly Gathered[] {
    const isLate = ({ since }: Gathered) => since + PATIENCE <= this.#options.clock.monotonic();
    const error = new DomainError('backendAway', 'the report is not counted: the database is away, or too slow');
    for (const { answer } of batch.filter(isLate)) answer?.reject(error);
    return batch.filter((one) => !isLate(one));
  }

  async #writeDurable(batch: readonly Gathered[]): Promise<void> {
    if (batch.length === 0) return;
    const oldest = Math.min(...batch.map(({ since }) => since));
    const until = Math.max(oldest + PATIENCE, this.#options.clock.monotonic() + LEAST_PATIENCE);
    const { written, made } = await this.#writeBatch(batch, { until });
    if (written.kind === 'done') {
      // The next batch need not wait until this one shows.
      void this.#shown(made, written).then(async () => {
        const unknown = await this.#unknownIn(written, made);
        for (const { answer, report } of batch) answer?.resolve(this.#countedOf(report, unknown));
      });
      return;
    }
    const repeated = repeatedIn(batch, written);
    if (repeated.length > 0) {
      const isRead = await this.#options.counted(null).then(
        () => true,
        () => false,
      );
      for (const { answer, report } of repeated) {
        if (isRead) answer?.resolve({ ...this.#countedOf(report, null), repeated: true });
        else
          answer?.reject(new DomainError('outcomeUnknown', 'the report was counted before, and cannot be read back'));
      }
      await this.#writeDurable(batch.filter((one) => !repeated.includes(one)));
      return;
    }
    const error =
      written.kind === 'nothing'
        ? new DomainError('backendAway', `the report is not counted: ${written.reason}`)
        : new DomainError('outcomeUnknown', 'send the report again with the same report_id');
    for (const { answer } of batch) answer?.reject(error);
  }

  /** The keys of a batch that were not registered; null where that cannot be found out. */
  async #unknownIn({ number, rest: [count] }: Done, { keys }: UsageBatch): Promise<ReadonlySet<string> | null> {
    if (count === '0') return new Set();
    const places = await this.#options.unknownOf(number).catch(() => null);
    return places === null ? null : new Set(placesOf(places).map((place) => keys[place - 1] ?? ''));
  }

  /** Resolves once a committed batch shows; where it cannot be read back, its own increments show. */
  #shown(made: UsageBatch, done: Done): Promise<void> {
    const { counted, addUnread } = this.#options;
    return counted(readCounted(made, done)).catch(() => addUnread(usedOf(made), Number(done.number)));
  }

  /** Returns the outcome of a report: its unregistered keys are those of its batch, or, where `unknown` is null, those unregistered now. */
  #countedOf({ entries }: UsageReport, unknown: ReadonlySet<string> | null): ReportOutcome {
    const isUnknown = (key: string) => (unknown === null ? this.#options.incarnation(key) === null : unknown.has(key));
    const unknownKeys = entries.map(({ accessKey }) => accessKey).filter(isUnknown);
    return { repeated: false, unknownKeys: [...new Set(unknownKeys)], durability: 'durable' };
  }

  async #writeAcknowledged(batch: readonly Gathered[]): Promise<void> {
    let left = batch;
    while (left.length > 0) {
      const { written, made } = await this.#writeBatch(left, this.#lasting);
      const repeated = repeatedIn(left, written);
      if (written.kind === 'done') {
        void this.#shown(made, written);
        break;
      }
      if (repeated.length > 0) {
        left = left.filter((one) => !repeated.includes(one));
        continue;
      }
      // A batch that may have been counted is not sent again.
      if (written.kind === 'unknown' || this.#options.clock.monotonic() > this.#lasting.until) {
        this.#options.log.error(
          { reports: left.length },
          'reports that were acknowledged from memory may be lost: the database was away for too long',
        );
        break;
      }
      await pause(this.#options.jitter(AGAIN));
    }
  }
}

/** The next reports, at least one; never two of one id. */
function takeBatch(waiting: Gathered[]): readonly Gathered[] {
  const ids = new Set<string>();
  let entries = 0;
  let count = 0;
  for (const { report } of waiting) {
    entries += report.entries.length;
    if (count > 0 && (entries > MOST_ENTRIES || (report.id !== null && ids.has(report.id)))) break;
    if (report.id !== null) ids.add(report.id);
    count += 1;
  }
  return waiting.splice(0, count);
}

/** The usage of a key in a batch. */
interface Used {
  readonly accessKey: string;
  /** Null for whichever there is. */
  readonly incarnation: number | null;
  up: bigint;
  down: bigint;
  connections: bigint | null;
}

interface MadeBatch {
  readonly made: UsageBatch;
  /** To be called once it is. */
  readonly committed: () => void;
}

interface Telling {
  readonly gateway: string;
  readonly seen: Seen;
  readonly told: ToldConnections;
}

function makeBatch(batch: readonly Gathered[], { gateway, seen, told }: Telling): MadeBatch {
  const used = new Map<string, Used>();
  for (const { report, incarnations } of batch) {
    for (const [at, { accessKey, bytesUp, bytesDown, connections }] of report.entries.entries()) {
      const incarnation = incarnations?.[at] ?? null;
      if (incarnations !== null && incarnation === null) continue;
      const name = incarnation === null ? accessKey : `${accessKey}\n${incarnation}`;
      const present = used.get(name);
      if (present === undefined) used.set(name, { accessKey, incarnation, up: bytesUp, down: bytesDown, connections });
      else {
        present.up = sum(present.up, bytesUp);
        present.down = sum(present.down, bytesDown);
        present.connections = connections ?? present.connections;
      }
    }
  }
  // Neighbours in the index one after the other.
  const all = [...used.values()].sort((one, other) => (one.accessKey < other.accessKey ? -1 : 1));
  const { connections, committed } = told.tell(all);
  const made = {
    gateway,
    seen,
    reportIds: batch.flatMap(({ report: { id } }) => (id === null ? [] : [id])),
    keys: all.map(({ accessKey }) => accessKey),
    incarnations: all.map(({ incarnation }) => (incarnation === null ? null : BigInt(incarnation))),
    up: all.map(({ up }) => up),
    down: all.map(({ down }) => down),
    connections,
  };
  return { made, committed };
}

function sum(one: bigint, other: bigint): bigint {
  const all = one + other;
  return all > MAX_U64 ? MAX_U64 : all;
}

type ToldConnections = ReturnType<typeof createToldConnections>;

/** The connections that this gateway has told: the same again is no news. */
function createToldConnections(options: Pick<CountingOptions, 'incarnation' | 'reloads'>) {
  /** Each with the incarnation of the counters that was known when it was told. */
  const told = new Map<string, { readonly value: bigint; readonly incarnation: number | null }>();
  /** The reload since which it was. */
  let since = 0;

  function isNews(accessKey: string, connections: bigint): boolean {
    const before = told.get(accessKey);
    // Before anything was read anew, what was never told is zero, and zeros need not be kept.
    if (before === undefined) return since > 0 || connections !== 0n;
    return before.incarnation !== options.incarnation(accessKey) || before.value !== connections;
  }

  return {
    /** Null where they are no news; `committed` is to be called once the others are. */
    tell(used: readonly Used[]): Pick<UsageBatch, 'connections'> & Pick<MadeBatch, 'committed'> {
      if (options.reloads() !== since) told.clear();
      since = options.reloads();
      const at = since;
      const news = used.map(({ accessKey, incarnation, connections }) => ({
        accessKey,
        // Not once it is committed: then a later one may be known, which has none.
        incarnation: incarnation ?? options.incarnation(accessKey),
        value: connections !== null && isNews(accessKey, connections) ? connections : null,
      }));
      return {
        connections: news.map(({ value }) => value),
        committed() {
          if (since !== at) return;
          for (const { accessKey, incarnation, value } of news) {
            if (value === 0n && since === 0) told.delete(accessKey);
            else if (value !== null) told.set(accessKey, { value, incarnation });
          }
        },
      };
    },
  };
}

/** The reports of a batch that the database has counted before, where that is why it took none of it. */
function repeatedIn(batch: readonly Gathered[], written: Written): readonly Gathered[] {
  if (written.kind !== 'nothing' || written.sqlState !== REPEATED) return [];
  const named = batch.filter(({ report }) => report.id !== null);
  return written.reason.split(',').flatMap((place) => named[Number(place) - 1] ?? []);
}

/** Returns the sums of a batch where all its keys were registered; null where others were among them, or its answer was lost. */
function readCounted(made: UsageBatch, { number, operation, rest: [unknown, follows] }: Done): CountedBatch | null {
  if (unknown !== '0') return null;
  const used = usedOf(made);
  const hasConnections = made.connections.some((value) => value !== null);
  return { number, mark: operation, seen: made.seen, follows: follows === 't', used, hasConnections };
}

function usedOf({ keys, up, down }: UsageBatch): readonly UsedRow[] {
  return keys.map((accessKey, at) => ({ accessKey, up: up[at] ?? 0n, down: down[at] ?? 0n }));
}

/** An array of integers as PostgreSQL writes it. */
function placesOf(array: string): readonly number[] {
  const inner = array.slice(1, -1);
  return inner === '' ? [] : inner.split(',').map(Number);
}
