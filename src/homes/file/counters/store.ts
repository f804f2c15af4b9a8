import { join } from 'node:path';
import { KEPT_AFTER_REMOVAL } from '../../../core/keys/removed-keys.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import type { Hold } from '../../../files/hold.js';
import { failureWords } from '../../../platform/failure-words.js';
import { STORE_FORMATS, type StoreFormat } from './formats.js';
import { makeStoreFolder, openStoreFolder } from './open-folder.js';
import { listStore } from './read-store.js';
import { createStoreLog } from './store-log.js';
import { createStoreWrites, type WritesStatus } from './store-writes.js';
import { type StoredParts, take } from './stored.js';
import { discardState, finishState, writeFirstState, writeState } from './write-state.js';

/** The store as operations see it. */
export interface CountersStatus extends WritesStatus {
  /** The folder that a damaged store was moved to at the start; null when it was sound. */
  readonly movedAside: string | null;
}

export type CountersStore = ReturnType<typeof serve>;

/** The keys are those of the configuration, tracking their changes and without counters as yet; the other parts are empty. */
export interface CountersStoreOptions extends StoredParts {
  readonly fileSystem: FileSystemPort;
  /** The data folder; it exists and is locked by this process. */
  readonly dataFolder: string;
  /** Keeps it so; default: nobody takes it away. */
  readonly hold?: Pick<Hold, 'renew' | 'onMadeAgain'>;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** The time between writes of changes, in milliseconds, 0 for never by itself; default 400. */
  readonly countersWriteMilliseconds?: number;
  /** Bytes of log after which the whole state is written, unless twice the state is more; default 32 MiB. */
  readonly compactBytes?: number;
  readonly formats?: readonly StoreFormat[];
}

const HOUR = 3_600_000;
/** With the time that a write takes, less than the second that may be lost (design: "The counters store"). */
const WRITE_MS = 400;
/** Milliseconds until a great many new keys are written: a start has more urgent things to do, and they are all at zero. */
const AFTER_START = 5_000;
/** After a failure; milliseconds. */
const COMPACT_PAUSE = 60_000;
const COMPACT_BYTES = 32 * 1024 * 1024;

/**
 * Opens the store and hands what it holds to the registry and the remembered reports. Changes are gathered and written
 * as batches to a log; each batch is durable before the next, and counts as a whole or not at all. When the log has
 * grown, or is in many files, the whole state is written beside it, a little at a time, and the old files go. Rejects with `CountersStoreError`.
 */
export async function openCountersStore(options: CountersStoreOptions): Promise<CountersStore> {
  const { fileSystem, dataFolder, reports, renewals, sources, log, formats = STORE_FORMATS } = options;
  const opened = await openStoreFolder({ fileSystem, dataFolder, formats, log }, (record) => take(record, options));
  // In the other case the whole state is written, with all changes.
  if (!opened.mustRewrite) {
    reports.takeChanges();
    renewals.takeChanges();
    sources.takeChanges();
  }
  const store = serve(options, opened);
  // Salvaged counters, or those of an older format, go into the new folder at once; a failure has been logged.
  if (opened.mustRewrite) await store.flush().catch(() => undefined);
  return store;
}

type Opened = Awaited<ReturnType<typeof openStoreFolder>>;

/** The counters and remembered reports of one data folder, on disk. */
function serve(options: CountersStoreOptions, opened: Opened) {
  const { fileSystem, dataFolder, hold, keys, reports, renewals, sources, clock, log } = options;
  const { folder, format } = opened;
  const tail = createStoreLog(fileSystem, folder, format, opened);
  let stateBytes = opened.stateBytes;
  let isNew = opened.mustRewrite;

  /** Writes the first state, also after the folder was lost: a compaction may still have the number of its state then. */
  async function begin(records: Buffer): Promise<void> {
    await makeStoreFolder(fileSystem, dataFolder, folder);
    const number = isNew ? tail.turn() : tail.startOver();
    stateBytes = await writeFirstState(fileSystem, folder, { format, number }, records);
    tail.goesOnFrom(number);
    isNew = false;
    oldLogBytes = 0;
  }

  const writes = createStoreWrites(options, {
    hasState: !opened.mustRewrite,
    ready: async () => hold?.renew(),
    add: (records) => tail.add(records),
    begin,
  });
  hold?.onMadeAgain(() => {
    writes.startOver();
    flush().catch(() => undefined);
  });
  let oldLogBytes = opened.hasManyLogs ? Number.POSITIVE_INFINITY : opened.logBytes;
  let compacting: Promise<void> | null = null;
  let compactsAgainAt = Number.NEGATIVE_INFINITY;
  let lastLooked = Number.NEGATIVE_INFINITY;
  let unlistedSince: number | null = null;

  async function writeWholeState(): Promise<void> {
    // A batch on its way belongs to the log before; what comes next goes to the log of the new state's number.
    await writes.idle();
    const number = tail.turn();
    const logBytesBefore = oldLogBytes;
    oldLogBytes = 0;
    try {
      const content = { counters: keys.allKept(), reports: reports.all, renewals: renewals.all, sources };
      const size = await writeState(fileSystem, folder, { format, number }, content);
      await writes.flush();
      await finishState(fileSystem, folder, number);
      tail.goesOnFrom(number);
      stateBytes = size;
    } catch (error) {
      oldLogBytes = logBytesBefore;
      // On a full disk it has the room that the log needs.
      await discardState(fileSystem, folder, number);
      throw error;
    }
    for (const { name, number: old } of await listStore(fileSystem, folder)) {
      if (old < number) await fileSystem.remove(join(folder, name));
    }
  }

  function compact(): Promise<void> {
    compacting ??= writeWholeState()
      .catch((error: unknown) => {
        log.warn({ folder, reason: failureWords(error) }, 'the state of the counters could not be rewritten');
        compactsAgainAt = clock.monotonic() + COMPACT_PAUSE;
      })
      .finally(() => {
        compacting = null;
      });
    return compacting;
  }

  function forgetOld(): void {
    if (clock.monotonic() - lastLooked < HOUR) return;
    lastLooked = clock.monotonic();
    const until = clock.now() - KEPT_AFTER_REMOVAL;
    sources.forgetSilent(until);
    const forgotten = keys.forgetRemoved(until);
    if (forgotten > 0) log.info({ keys: forgotten }, 'counters of keys that left the file long ago were dropped');
  }

  /**
   * Resolves once everything that happened to counters and reports before the call is durable. Rejects with an error in
   * words for people when it could not be written; it stays in memory and is tried again.
   */
  async function flush(): Promise<void> {
    await writes.flush();
    const limit = Math.max(options.compactBytes ?? COMPACT_BYTES, 2 * stateBytes);
    if (writes.hasState() && tail.bytes + oldLogBytes > limit && clock.monotonic() >= compactsAgainAt) void compact();
  }

  function writeUnlisted(): void {
    if (keys.takeUnlisted()) unlistedSince = clock.monotonic();
    if (unlistedSince === null || clock.monotonic() - unlistedSince < AFTER_START) return;
    unlistedSince = null;
    if (writes.hasState()) void compact();
  }

  const timer = startTimer(options.countersWriteMilliseconds ?? WRITE_MS, () => {
    forgetOld();
    writeUnlisted();
    flush().catch(() => undefined);
  });

  return {
    flush,
    status: (): CountersStatus => ({ movedAside: opened.movedAside, ...writes.status() }),
    /** Writes what is left. Failures are logged. */
    async close(): Promise<void> {
      clearInterval(timer);
      await compacting;
      await flush().catch(() => undefined);
      await compacting;
    },
  };
}

function startTimer(milliseconds: number, tick: () => void): NodeJS.Timeout | undefined {
  return milliseconds > 0 ? setInterval(tick, milliseconds).unref() : undefined;
}
