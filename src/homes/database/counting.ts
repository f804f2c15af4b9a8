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
  /** Bytes of reports that are acknowledged and not yet committed. */
  readonly waitingBytes: number;
}

export interface CountingOptions {
  readonly gateway: string;
  readonly writes: Pick<Writes, 'write'>;
  /** Returns the known incarnation of a key's counters; null for an unknown key. */
  readonly incarnation: (accessKey: string) => number | null;
  /** Returns the number of reloads of everything; after one the database may lack what it was told before. */
  readonly reloads: () => number;
  /** Returns the places of a committed batch's unregistered keys, as a PostgreSQL array; null if forgotten. */
  readonly unknownOf: (batch: bigint) => Promise<string | null>;
  /** Returns the numbers and marks of the state in memory. */
  readonly seen: () => Seen;
  /** Resolves once a committed batch is visible here; null if nothing more is known about it. */
  readonly counted: (batch: CountedBatch | null) => Promise<void>;
  /** Shows the increments of batch `number`, which was made over the write `state`, until they can be read. */
  readonly addUnread: (used: readonly UsedRow[], number: number, state: number) => void;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
}

/**
 * Entries after which a batch takes no further report, since other gateways' batches wait for its commit. A report
 * without any counts as one.
 */
const MOST_ENTRIES = 10_000;
/** Bytes of reports of each acknowledgement that may wait for the database. */
export const MOST_WAITING = 64 * 1024 * 1024;
/** Bytes of a report, and of each of its entries, in addition to its id and their keys. */
const ENTRY_BYTES = 100;
/** In milliseconds. */
const PATIENCE = 10_000;
const LEAST_PATIENCE = 2_000;
const CLOSING_PATIENCE = 5_000;
const AGAIN = 300;
/** The schema's own state for a batch that contains an already counted report. */
const REPEATED = 'KW002';

interface Gathered {
  readonly report: UsageReport;
  readonly bytes: number;
  readonly since: number;
  /** Null for a report that has already been acknowledged. */
  readonly answer: { resolve(outcome: ReportOutcome): void; reject(error: Error): void } | null;
  /** For each entry of a report that applies only to the keys as they were then. */
  readonly incarnations: readonly (number | null)[] | null;
}

/** Gathers reports and writes them in batches, one at a time for each acknowledgement. */
export class Counting {
  readonly #options: CountingOptions;
  readonly #status = { batches: 0, entries: 0, failed: 0 };
  /** In bytes. */
  readonly #waiting = { durable: 0, memory: 0 };
  /** Acknowledged reports are retried as long as Keyway runs. */
  readonly #lasting = { until: Number.POSITIVE_INFINITY };
  readonly #told: ToldConnections;
  #isClosing = false;
  // A report that waits for its commit must not queue behind reports without a waiting caller.
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
   * Resolves once the report is committed, or only gathered if that is all the acknowledgement promises. Rejects with
   * `backendAway` if it was not counted, and with `outcomeUnknown` if that could not be determined in time.
   */
  async count(report: UsageReport, acknowledgement: Acknowledgement): Promise<ReportOutcome> {
    if (this.#isClosing) throw new DomainError('backendAway', 'Keyway is shutting down');
    const bytes = report.entries.reduce(
      (sum, { accessKey }) => sum + ENTRY_BYTES + accessKey.length,
      ENTRY_BYTES + (report.id?.length ?? 0),
    );
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

  /** Writes the gathered reports; gives up after some seconds. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#lasting.until = this.#options.clock.monotonic() + CLOSING_PATIENCE;
    await Promise.all([this.#durable.idle(), this.#memory.idle()]);
  }

  /** Wraps a write so that it subtracts the bytes of a batch once it is written. */
  #leaving(acknowledgement: Acknowledgement, write: (batch: readonly Gathered[]) => Promise<void>) {
    return async (batch: readonly Gathered[]): Promise<void> => {
      await write(batch);
      this.#waiting[acknowledgement] -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
    };
  }

  async #writeBatch(batch: readonly Gathered[], patience: Patience) {
    const { made, committed, doubted } = makeBatch(batch, {
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
    if (written.kind === 'unknown') doubted();
    return { written, made };
  }

  /** Refuses reports that have waited too long; none of them was sent. */
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
      // The next batch need not wait until this one is visible.
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

  /** Returns the keys of a batch that were not registered; null if that is unknown. */
  async #unknownIn({ number, rest: [count] }: Done, { keys }: UsageBatch): Promise<ReadonlySet<string> | null> {
    if (count === '0') return new Set();
    const places = await this.#options.unknownOf(number).catch(() => null);
    return places === null ? null : new Set(placesOf(places).map((place) => keys[place - 1] ?? ''));
  }

  /** Resolves once a committed batch is visible; if it cannot be read back, its own increments are shown. */
  #shown(made: UsageBatch, done: Done): Promise<void> {
    const { counted, addUnread } = this.#options;
    const [number, state] = [Number(done.number), Number(made.seen.state)];
    return counted(readCounted(made, done)).catch(() => addUnread(usedOf(made), number, state));
  }

  /**
   * Returns the outcome of a report. Its unregistered keys are those of its batch or, if `unknown` is null, those
   * unregistered now.
   */
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
        // If it cannot be read back, nothing tells which keys were reset since they were reported, and count nothing.
        this.#options.counted(readCounted(made, written)).catch(() => undefined);
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

/** Takes the next reports, at least one, and never two with one id. */
function takeBatch(waiting: Gathered[]): readonly Gathered[] {
  const ids = new Set<string>();
  let entries = 0;
  let count = 0;
  for (const { report } of waiting) {
    entries += Math.max(1, report.entries.length);
    if (count > 0 && (entries > MOST_ENTRIES || (report.id !== null && ids.has(report.id)))) break;
    if (report.id !== null) ids.add(report.id);
    count += 1;
  }
  return waiting.splice(0, count);
}

/** The usage of a key in a batch. */
interface Used {
  readonly accessKey: string;
  /** Null for any incarnation. */
  readonly incarnation: number | null;
  up: bigint;
  down: bigint;
  connections: bigint | null;
}

interface MadeBatch {
  readonly made: UsageBatch;
  /** To be called once the batch is committed. */
  readonly committed: () => void;
  /** To be called if it is unknown whether the batch is committed. */
  readonly doubted: () => void;
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
  // Sorted, so that neighbours in the index follow one another.
  const all = [...used.values()].sort((one, other) => (one.accessKey < other.accessKey ? -1 : 1));
  const { connections, ...ended } = told.tell(all);
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
  return { made, ...ended };
}

function sum(one: bigint, other: bigint): bigint {
  const all = one + other;
  return all > MAX_U64 ? MAX_U64 : all;
}

type ToldConnections = ReturnType<typeof createToldConnections>;

/** Remembers the connections that this gateway has told, because telling them again would be no news. */
function createToldConnections(options: Pick<CountingOptions, 'incarnation' | 'reloads'>) {
  /**
   * The told value of each key, null if it is unknown which one the database has; with the incarnation of its counters
   * known at that time.
   */
  const told = new Map<string, { readonly value: bigint | null; readonly incarnation: number | null }>();
  /** The reload after which they were told. */
  let since = 0;

  function isNews(accessKey: string, connections: bigint): boolean {
    const before = told.get(accessKey);
    // Before the first reload a value that was never told is zero, and zeros are not stored.
    if (before === undefined) return since > 0 || connections !== 0n;
    return before.incarnation !== options.incarnation(accessKey) || before.value !== connections;
  }

  return {
    /** Returns the connections to tell, null for no news. */
    tell(used: readonly Used[]): Pick<UsageBatch, 'connections'> & Omit<MadeBatch, 'made'> {
      if (options.reloads() !== since) told.clear();
      since = options.reloads();
      const at = since;
      const news = used.map(({ accessKey, incarnation, connections }) => ({
        accessKey,
        // Taken now: after the commit a later incarnation may be known, which has not been told.
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
        doubted() {
          for (const { accessKey, incarnation, value } of news)
            if (value !== null) told.set(accessKey, { value: null, incarnation });
        },
      };
    },
  };
}

/** Returns the reports of a batch that had been counted before, if that is why the database refused it. */
function repeatedIn(batch: readonly Gathered[], written: Written): readonly Gathered[] {
  if (written.kind !== 'nothing' || written.sqlState !== REPEATED) return [];
  const named = batch.filter(({ report }) => report.id !== null);
  return written.reason.split(',').flatMap((place) => named[Number(place) - 1] ?? []);
}

/** Returns the sums of a batch if all its keys were registered; null if not, or if its answer was lost. */
function readCounted(made: UsageBatch, { number, operation, rest: [unknown, follows] }: Done): CountedBatch | null {
  if (unknown !== '0') return null;
  const used = usedOf(made);
  const hasConnections = made.connections.some((value) => value !== null);
  return { number, mark: operation, seen: made.seen, follows: follows === 't', used, hasConnections };
}

function usedOf({ keys, up, down }: UsageBatch): readonly UsedRow[] {
  return keys.map((accessKey, at) => ({ accessKey, up: up[at] ?? 0n, down: down[at] ?? 0n }));
}

/** Reads an array of integers in PostgreSQL's form. */
function placesOf(array: string): readonly number[] {
  const inner = array.slice(1, -1);
  return inner === '' ? [] : inner.split(',').map(Number);
}
