import { setTimeout as pause } from 'node:timers/promises';
import type { Acknowledgement, ReportOutcome, UsageReport } from '../core/backend.js';
import { DomainError } from '../core/errors.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { type UsageBatch, WRITES } from './statements.js';
import type { Patience, Writes, Written } from './writes.js';

/** Gathers reports and writes them in batches, of which one is on its way at a time. */
export interface Counting {
  /**
   * Resolves once the report is committed, or is gathered where that is all that is asked for. Rejects with `backendAway`
   * where it was not counted, and with `outcomeUnknown` where that could not be found out in time.
   */
  count(report: UsageReport, acknowledgement: Acknowledgement): Promise<ReportOutcome>;
  status(): CountingStatus;
  /** Writes what is gathered; gives up after some seconds. */
  close(): Promise<void>;
}

export interface CountingStatus {
  /** Counts since the start. */
  readonly batches: number;
  readonly entries: number;
  readonly failed: number;
  /** Of reports that are acknowledged and not committed. */
  readonly waitingBytes: number;
}

export interface CountingOptions {
  readonly gateway: string;
  readonly writes: Pick<Writes, 'write'>;
  /** Which incarnation of a key's counters is known; null for an unknown key. */
  readonly incarnation: (accessKey: string) => number | null;
  /** Called after a batch is committed; resolves once it shows. */
  readonly committed: () => Promise<void>;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

/** Entries of a batch: what is committed together holds up other gateways' batches for so long. */
const MOST_ENTRIES = 10_000;
/** Bytes that acknowledged reports may take while they wait for the database. */
export const MOST_WAITING = 64 * 1024 * 1024;
/** What an entry takes besides its key. */
const ENTRY_BYTES = 100;
/** Milliseconds. */
const PATIENCE = 10_000;
const LEAST_PATIENCE = 2_000;
const CLOSING_PATIENCE = 5_000;
const AGAIN = 300;

interface Gathered {
  readonly report: UsageReport;
  readonly bytes: number;
  readonly since: number;
  /** Null for a report that is acknowledged already. */
  readonly answer: { resolve(outcome: ReportOutcome): void; reject(error: Error): void } | null;
  /** Per entry, for a report that counts only as the keys were then. */
  readonly incarnations: readonly (number | null)[] | null;
}

export function createCounting(options: CountingOptions): Counting {
  const { writes, clock, log } = options;
  const status = { batches: 0, entries: 0, failed: 0, waitingBytes: 0 };
  /** What is acknowledged is tried for as long as Keyway runs. */
  const lasting = { until: Number.POSITIVE_INFINITY };
  let isClosing = false;
  // A report that waits for its commit does not wait for those that nobody waits for.
  const durable = createLane(writeDurable);
  const memory = createLane(writeAcknowledged);

  async function writeBatch(batch: readonly Gathered[], patience: Patience) {
    const made = makeBatch(batch, options.gateway);
    const written = await writes.write(WRITES.countUsage(made), patience);
    if (written.kind === 'done') {
      status.batches += 1;
      status.entries += made.entryKeys.length;
      await options.committed().catch(() => undefined);
    } else status.failed += 1;
    return { written, made };
  }

  async function writeDurable(batch: readonly Gathered[]): Promise<void> {
    const oldest = Math.min(...batch.map(({ since }) => since));
    const until = Math.max(oldest + PATIENCE, clock.monotonic() + LEAST_PATIENCE);
    const { written, made } = await writeBatch(batch, { until });
    if (written.kind === 'done') {
      for (const { answer, report } of batch)
        answer?.resolve({ ...outcomeOf(written, made, report), durability: 'durable' });
      return;
    }
    const error =
      written.kind === 'nothing'
        ? new DomainError('backendAway', `the report is not counted: ${written.reason}`)
        : new DomainError('outcomeUnknown', 'send the report again with the same report_id');
    for (const { answer } of batch) answer?.reject(error);
  }

  async function writeAcknowledged(batch: readonly Gathered[]): Promise<void> {
    while ((await writeBatch(batch, lasting)).written.kind !== 'done') {
      if (clock.monotonic() > lasting.until) {
        log.error(
          { reports: batch.length },
          'reports that were acknowledged from memory are lost: the database is away',
        );
        break;
      }
      await pause(AGAIN * (0.5 + Math.random()));
    }
    for (const { bytes } of batch) status.waitingBytes -= bytes;
  }

  return {
    status: () => status,
    async count(report, acknowledgement) {
      if (isClosing) throw new DomainError('backendAway', 'Keyway is shutting down');
      const bytes = report.entries.reduce((sum, { accessKey }) => sum + ENTRY_BYTES + accessKey.length, 0);
      const gathered = { report, bytes, since: clock.monotonic() };
      if (acknowledgement === 'durable')
        return new Promise((resolve, reject) =>
          durable.add({ ...gathered, answer: { resolve, reject }, incarnations: null }),
        );
      if (status.waitingBytes + bytes > MOST_WAITING)
        throw new DomainError('backendAway', 'too many acknowledged reports wait for the database');
      status.waitingBytes += bytes;
      const incarnations = report.entries.map(({ accessKey }) => options.incarnation(accessKey));
      const unknown = report.entries.flatMap(({ accessKey }, at) => (incarnations[at] === null ? [accessKey] : []));
      memory.add({ ...gathered, answer: null, incarnations });
      return { repeated: false, unknownKeys: [...new Set(unknown)], durability: 'memory' };
    },
    async close() {
      isClosing = true;
      lasting.until = clock.monotonic() + CLOSING_PATIENCE;
      await Promise.all([durable.idle(), memory.idle()]);
    },
  };
}

/** Reports that wait, and one batch of them on its way. */
function createLane(write: (batch: readonly Gathered[]) => Promise<void>) {
  const waiting: Gathered[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Reports that come in the same turn go together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await write(takeBatch(waiting));
  }

  return {
    add(gathered: Gathered): void {
      waiting.push(gathered);
      running ??= run().finally(() => {
        running = null;
      });
    },
    idle: async () => running,
  };
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

function makeBatch(batch: readonly Gathered[], gateway: string): UsageBatch {
  const reportIds: string[] = [];
  const places = new Map<string, number>();
  const keys: string[] = [];
  const incarnations: (bigint | null)[] = [];
  const entryReports: (number | null)[] = [];
  const entryKeys: number[] = [];
  const up: bigint[] = [];
  const down: bigint[] = [];
  const connections: (bigint | null)[] = [];
  for (const { report, incarnations: known } of batch) {
    if (report.id !== null) reportIds.push(report.id);
    for (const [at, entry] of report.entries.entries()) {
      const incarnation = known?.[at] ?? null;
      if (known !== null && incarnation === null) continue;
      const name = known === null ? entry.accessKey : `${incarnation} ${entry.accessKey}`;
      let place = places.get(name);
      if (place === undefined) {
        place = keys.push(entry.accessKey);
        incarnations.push(incarnation === null ? null : BigInt(incarnation));
        places.set(name, place);
      }
      entryReports.push(report.id === null ? null : reportIds.length);
      entryKeys.push(place);
      up.push(entry.bytesUp);
      down.push(entry.bytesDown);
      connections.push(entry.connections);
    }
  }
  return { gateway, reportIds, keys, incarnations, entryReports, entryKeys, up, down, connections };
}

/** What the database said of one report of a batch. */
function outcomeOf(
  { rest }: Extract<Written, { kind: 'done' }>,
  made: UsageBatch,
  report: UsageReport,
): Pick<ReportOutcome, 'repeated' | 'unknownKeys'> {
  const repeated = new Set(placesOf(rest[0]).map((place) => made.reportIds[place - 1]));
  const unknown = new Set(placesOf(rest[1]).map((place) => made.keys[place - 1]));
  const unknownKeys = new Set(report.entries.map(({ accessKey }) => accessKey).filter((key) => unknown.has(key)));
  return { repeated: report.id !== null && repeated.has(report.id), unknownKeys: [...unknownKeys] };
}

/** An array of integers as PostgreSQL writes it. */
function placesOf(array: string | null | undefined): readonly number[] {
  const inner = (array ?? '{}').slice(1, -1);
  return inner === '' ? [] : inner.split(',').map(Number);
}
