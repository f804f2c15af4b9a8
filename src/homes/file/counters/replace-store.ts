import { join } from 'node:path';
import { stampRemoved } from '../../../core/keys/removed-keys.js';
import type { KeptCounters } from '../../../core/keys/types.js';
import { failureWords } from '../../../platform/failure-words.js';
import { STORE_FORMATS } from './formats.js';
import type { StoredState } from './lines.js';
import { makeStoreFolder, openStoreFolder } from './open-folder.js';
import { listStore } from './read-store.js';
import type { CountersStoreOptions } from './store.js';
import { createStoredParts, take } from './stored.js';
import { discardState, finishState, writeState } from './write-state.js';

type ReplaceStoreOptions = Pick<CountersStoreOptions, 'fileSystem' | 'dataFolder' | 'clock' | 'log'>;

/** The content that a store is to have; of reports and sources that are null it keeps its own. */
export interface ReplacedStore extends Omit<StoredState, 'configuration' | 'notes'> {
  /** The report of the replacement itself, which is remembered as well. */
  readonly report: string;
  /** The keys of the configuration that goes with it; asked for where the store has counters that this has not. */
  readonly registered: () => Iterable<string>;
}

/**
 * Makes the store of a data folder, that nothing serves from, hold this, and of keys without a place the counters that it had. `beforehand` is done once all is written and
 * before any of it counts; where it rejects, nothing was changed. Rejects as that does, with `CountersStoreError`, or with
 * words for people.
 */
export async function replaceStore(
  options: ReplaceStoreOptions,
  { counters, reports, sources, report, registered }: ReplacedStore,
  beforehand: () => Promise<void>,
): Promise<void> {
  const { fileSystem, dataFolder, clock, log } = options;
  const present = createStoredParts();
  const { keys } = present;
  const opened = await openStoreFolder({ fileSystem, dataFolder, formats: STORE_FORMATS, log }, (record) =>
    take(record, present),
  );
  if (reports !== null) present.reports.restore(reports);
  present.reports.add(report);
  if (sources !== null) present.sources.restore(sources.sources, sources.bases);
  for (const { accessKey } of counters) keys.forget(accessKey);
  const [isAnyLeft] = keys.allKept();
  if (isAnyLeft !== undefined) for (const accessKey of registered()) keys.forget(accessKey);
  function* all(): Generator<KeptCounters, void> {
    yield* counters;
    // They wait for their keys, as after an edit.
    for (const kept of keys.allKept()) yield stampRemoved(kept, clock.now());
  }
  const { folder, format, nextNumber: number } = opened;
  const content = { counters: all(), reports: present.reports.all, renewals: () => [], sources: present.sources };
  try {
    await makeStoreFolder(fileSystem, dataFolder, folder);
    await writeState(fileSystem, folder, { format, number }, content);
  } catch (error) {
    await discardState(fileSystem, folder, number);
    throw new Error(`counters could not be written: ${failureWords(error)}`, { cause: error });
  }
  try {
    await beforehand();
  } catch (error) {
    await discardState(fileSystem, folder, number);
    throw error;
  }
  await finishState(fileSystem, folder, number);
  for (const { name, number: old } of await listStore(fileSystem, folder)) {
    if (old < number) await fileSystem.remove(join(folder, name));
  }
}
