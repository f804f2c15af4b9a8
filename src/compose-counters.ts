import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyRegistry, type KeyRegistry } from './core/keys.js';
import type { ClockPort, FileSystemPort, LogPort } from './core/ports.js';
import { createUsage, type Usage } from './core/usage.js';
import { type CountersStore, openCountersStore } from './local/counters/store.js';
import { cleanDataFolder, openDataFolder } from './local/data-folder.js';
import { lockDataFolder } from './local/data-folder-lock.js';
import { createProcesses } from './local/processes.js';

/** The keys' counters and the remembered reports, and where they are kept. */
export interface Counters {
  readonly keys: KeyRegistry;
  readonly usage: Usage;
  /** Null where nothing outlives the process. */
  readonly store: CountersStore | null;
  /** Where that is. */
  readonly dataFolder: string | null;
  /** Writes what is left and gives back what was taken. */
  close(): Promise<void>;
}

export interface CountersPlace {
  /** Null: nothing is kept. */
  readonly dataFolder: string | null;
  /** Whether the configuration file holds the folder's lock; without one, it is taken here. */
  readonly isLocked: boolean;
  /** Milliseconds. */
  readonly keepGone?: number;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

/** Loads what is kept. Rejects with an `Error` whose message is for people. */
export async function openCounters(place: CountersPlace): Promise<Counters> {
  const { dataFolder, isLocked, keepGone, fileSystem, clock, log } = place;
  const keys = createKeyRegistry(() => clock.now(), { tracksChanges: dataFolder !== null });
  const usage = createUsage(keys, log);
  if (dataFolder === null) return { keys, usage, store: null, dataFolder, close: async () => undefined };
  const unlock = isLocked ? async () => undefined : await takeFolder(fileSystem, dataFolder);
  try {
    const store = await openCountersStore({
      fileSystem,
      dataFolder,
      keys,
      reports: usage.reports,
      clock,
      log,
      ...(keepGone === undefined ? {} : { keepGone }),
    });
    return { keys, usage, store, dataFolder, close: () => store.close().finally(unlock) };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** Without a configuration file the folder belongs to none: this name stands for it. */
const NO_FILE = '--no-config';

async function takeFolder(fileSystem: FileSystemPort, path: string): Promise<() => Promise<void>> {
  const folder = await openDataFolder(fileSystem, path, join(path, NO_FILE));
  const wait = async (milliseconds: number) => {
    await sleep(milliseconds);
  };
  const unlock = await lockDataFolder(fileSystem, folder, createProcesses(), wait);
  await cleanDataFolder(fileSystem, folder);
  return unlock;
}
