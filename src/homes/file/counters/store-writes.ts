import type { KeptCounters } from '../../../core/keys/types.js';
import type { ClockPort, LogPort } from '../../../core/ports.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import type { SourceChange } from './posted-counters.js';
import { createRecordWriter, type RecordWriter } from './records.js';
import type { ReportChanges } from './remembered-reports.js';
import type { StoredParts } from './stored.js';
import { sourceRecords } from './write-state.js';

/** The writing as operations see it. */
export interface WritesStatus {
  /** Why the last batch could not be written; null after one that could. */
  readonly lastWriteError: string | null;
  /** Batches written since the start, their bytes and the time that they took in milliseconds. */
  readonly batches: number;
  readonly batchBytes: number;
  readonly batchMilliseconds: number;
  readonly failedBatches: number;
}

interface StoreWritesOptions extends StoredParts {
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly dataFolder: string;
}

/** The place that batches go to. */
export interface StoreTarget {
  /** The folder holds everything at first. */
  readonly hasState: boolean;
  /** Resolves when the folder may be written to; `startOver` may be called meanwhile. */
  ready(): Promise<void>;
  add(records: Buffer): Promise<void>;
  /** Begins the folder with everything. */
  begin(records: Buffer): Promise<void>;
}

/**
 * Gathers what changed into batches, one on its way at a time. While the folder has no state, everything goes there before
 * anything else is written: a folder that had a part alone would pass for the whole after a crash.
 */
export function createStoreWrites(
  { keys, reports, renewals, sources, clock, log, dataFolder }: StoreWritesOptions,
  target: StoreTarget,
) {
  let unwrittenKeys: ReadonlySet<string> = new Set();
  let unwrittenReports = NO_REPORTS;
  let unwrittenRenewals: ReadonlySet<string> = new Set();
  let unwrittenSources: SourceChanges = new Map();
  let hasState = target.hasState;
  let startedOver = 0;
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const status: { -readonly [Name in keyof WritesStatus]: WritesStatus[Name] } = {
    lastWriteError: null,
    batches: 0,
    batchBytes: 0,
    batchMilliseconds: 0,
    failedBatches: 0,
  };

  function putSources(writer: RecordWriter, changed: SourceChanges): void {
    for (const [name, { isForgotten, accessKeys }] of changed) {
      if (isForgotten) writer.sourceForgotten(name);
      const source = sources.source(name);
      if (source === null) continue;
      writer.source(source);
      for (const accessKey of accessKeys) {
        const base = sources.base(name, accessKey);
        if (base !== null) writer.base(base);
      }
    }
  }

  /** In one turn of the event loop, so that a report is in a batch whole, and an increment with its base. */
  function gather(): Gathered {
    const writer = createRecordWriter();
    const changed: string[] = [];
    const put = (accessKey: string, kept: KeptCounters | null) => {
      changed.push(accessKey);
      if (kept === null) writer.dropped(accessKey);
      else writer.counters(kept);
    };
    for (const accessKey of unwrittenKeys) put(accessKey, keys.kept(accessKey));
    keys.takeChanged(put);
    const renewed = new Set([...unwrittenRenewals, ...renewals.takeChanges()]);
    for (const accessKey of renewed) {
      const renewal = renewals.get(accessKey);
      if (renewal === null) writer.settled(accessKey);
      else writer.renewing(renewal);
    }
    const ids = together(unwrittenReports, reports.takeChanges());
    if (ids.restored) writer.noReports();
    for (const id of ids.added) writer.report(id);
    const posted = togetherSources(unwrittenSources, sources.takeChanges());
    putSources(writer, posted);
    return { changed, renewed, ids, posted, records: writer.take() };
  }

  function gatherAll(): Gathered {
    const writer = createRecordWriter();
    keys.takeChanged(() => undefined);
    reports.takeChanges();
    renewals.takeChanges();
    sources.takeChanges();
    for (const kept of keys.allKept()) writer.counters(kept);
    for (const renewal of renewals.all()) writer.renewing(renewal);
    for (const id of reports.all()) writer.report(id);
    for (const record of sourceRecords(sources)) record(writer);
    writer.end();
    return { changed: [], renewed: new Set(), ids: NO_REPORTS, posted: new Map(), records: writer.take() };
  }

  async function writeBatch(): Promise<void> {
    const began = clock.monotonic();
    const isWhole = !hasState;
    let gathered = isWhole ? gatherAll() : gather();
    if (gathered.records.length === 0) return;
    try {
      await target.ready();
      if (!hasState && !isWhole) gathered = gatherAll();
      const before = startedOver;
      await (hasState ? target.add(gathered.records) : target.begin(gathered.records));
      // A folder that was lost meanwhile took this batch with it.
      hasState = before === startedOver;
      unwrittenKeys = new Set();
      unwrittenReports = NO_REPORTS;
      unwrittenRenewals = new Set();
      unwrittenSources = new Map();
      status.batches += 1;
      status.batchBytes += gathered.records.length;
      status.batchMilliseconds += clock.monotonic() - began;
      succeeded();
    } catch (error) {
      // The folder or the log in it was removed.
      if (failureCode(error) === 'ENOENT') hasState = false;
      unwrittenKeys = new Set(gathered.changed);
      unwrittenReports = gathered.ids;
      unwrittenRenewals = gathered.renewed;
      unwrittenSources = gathered.posted;
      status.failedBatches += 1;
      throw failed(error);
    }
  }

  /** Says it once, until the reason is another one. */
  function failed(error: unknown): Error {
    const reason = failureWords(error);
    if (reason !== status.lastWriteError) {
      log.error({ folder: dataFolder, reason }, 'counters could not be written; they are kept in memory');
    }
    status.lastWriteError = reason;
    return new Error(`counters could not be written: ${reason}`, { cause: error });
  }

  function succeeded(): void {
    if (status.lastWriteError !== null) log.info({ folder: dataFolder }, 'counters can be written again');
    status.lastWriteError = null;
  }

  function start(): Promise<void> {
    const write = writeBatch().finally(() => {
      running = null;
    });
    running = write;
    return write;
  }

  return {
    status: (): WritesStatus => status,
    /** True when the folder holds everything, so that changes can be added to it. */
    hasState: () => hasState,
    /** Notes that all that was written is gone: the next batch is everything. */
    startOver: () => {
      hasState = false;
      startedOver += 1;
    },
    /** Resolves once everything that changed before the call is durable. Rejects with words for people; it is tried again. */
    flush(): Promise<void> {
      if (running === null) return start();
      // A batch that is on its way was gathered before this call.
      next ??= running
        .catch(() => undefined)
        .then(() => {
          next = null;
          return start();
        });
      return next;
    },
    /** Resolves once no batch is on its way. */
    idle: async () => {
      while (running !== null || next !== null) await (next ?? running)?.catch(() => undefined);
    },
  };
}

type SourceChanges = ReadonlyMap<string, SourceChange>;

const NO_REPORTS: ReportChanges = { restored: false, added: [] };

interface Gathered {
  readonly changed: readonly string[];
  readonly renewed: ReadonlySet<string>;
  readonly ids: ReportChanges;
  readonly posted: SourceChanges;
  readonly records: Buffer;
}

function together(before: ReportChanges, now: ReportChanges): ReportChanges {
  return now.restored ? now : { restored: before.restored, added: [...before.added, ...now.added] };
}

function togetherSources(before: SourceChanges, now: SourceChanges): SourceChanges {
  const all = new Map(before);
  for (const [name, change] of now) {
    const earlier = change.isForgotten ? undefined : all.get(name);
    if (earlier === undefined) all.set(name, change);
    else all.set(name, { ...earlier, accessKeys: new Set([...earlier.accessKeys, ...change.accessKeys]) });
  }
  return all;
}
