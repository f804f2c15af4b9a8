import { dirname } from 'node:path';
import { KeyRegistry } from '../../../core/keys/registry.js';
import type { AccessKey } from '../../../core/model.js';
import type { FileSystemPort, LogPort } from '../../../core/ports.js';
import { type Hold, holdForServing } from '../../../files/hold.js';
import { lockPorts } from '../../../files/lock.js';
import { PostedCounters } from './posted-counters.js';
import { createRenewals, decideRenewals } from './recreated-keys.js';
import { type CountersStore, type CountersStoreOptions, openCountersStore } from './store.js';
import type { StoredParts } from './stored.js';
import { createUsage, type Usage } from './usage.js';

/** The keys' counters and the remembered reports, and where they are kept. */
export interface Counters extends Omit<StoredParts, 'reports'> {
  readonly usage: Usage;
  /** Null where nothing outlives the process. */
  readonly store: CountersStore | null;
  readonly dataFolder: string | null;
  /** Null where nothing outlives the process. */
  readonly hold: Hold | null;
  /** Writes what is left and gives back what was taken. */
  close(): Promise<void>;
}

/** The keys of the configuration file at present. */
export interface RegisteredKeys {
  readonly path: string;
  readonly keys: readonly AccessKey[];
  readonly hold: Hold;
}

export interface CountersPlace
  extends Pick<CountersStoreOptions, 'countersWriteMilliseconds' | 'fileSystem' | 'clock' | 'log'> {
  /** Null: nothing is kept. */
  readonly dataFolder: string | null;
  /** The configuration file, with which the folder is held; without one, it is taken here. */
  readonly configuration: RegisteredKeys | null;
  /** The option of `PostedCounters`. */
  readonly keepsCounters?: boolean | null;
}

/** Loads what is kept. Rejects with an `Error` whose message is for people. */
export async function openCounters(place: CountersPlace): Promise<Counters> {
  const { dataFolder, configuration, keepsCounters = null, fileSystem, clock, log } = place;
  const keys = new KeyRegistry(() => clock.now(), { tracksChanges: dataFolder !== null });
  const usage = createUsage(keys, log);
  const renewals = createRenewals();
  const sources = new PostedCounters({
    keys,
    count: (entries) => usage.count({ id: null, entries }),
    clock,
    keepsCounters,
    log,
  });
  const parts = { keys, usage, renewals, sources, dataFolder };
  if (dataFolder === null) {
    const stop = followSources(sources, log);
    return { ...parts, store: null, hold: null, close: async () => stop() };
  }
  const own = configuration !== null ? null : await holdFolder({ dataFolder, fileSystem, log });
  const hold = configuration?.hold ?? own;
  // Before what is kept of them: so each counter finds its key, and nothing has to wait for one.
  keys.replaceAll(configuration?.keys ?? []);
  try {
    const store = await openCountersStore({
      ...place,
      ...(hold === null ? {} : { hold }),
      ...{ dataFolder, keys, reports: usage.reports, renewals, sources },
    });
    if (renewals.all().length > 0) {
      // The file that decides must not come undone by a second crash, nor may one find anything left to decide.
      if (configuration !== null) await makeDurable(fileSystem, configuration.path);
      decideRenewals(renewals, keys, configuration?.keys ?? [], clock.now());
      await store.flush().catch(() => undefined);
    }
    const stop = followSources(sources, log);
    return {
      ...parts,
      store,
      hold,
      close: () => {
        stop();
        return store.close().finally(own?.release);
      },
    };
  } catch (error) {
    await own?.release();
    throw error;
  }
}

async function makeDurable(fileSystem: FileSystemPort, path: string): Promise<void> {
  await fileSystem.sync(path);
  await fileSystem.syncFolder(dirname(await fileSystem.realPath(path)));
}

/** Milliseconds. */
const LOWER_MS = 5_000;

/** Until it is called. */
function followSources(sources: PostedCounters, log: LogPort): () => void {
  const timer = setInterval(() => {
    sources.lower().catch((error: unknown) => log.error({ err: error }, 'connections could not be followed'));
  }, LOWER_MS).unref();
  return () => clearInterval(timer);
}

/** The time between looks whether the folder is still there. */
const LOOK_MS = 500;

async function holdFolder({
  fileSystem,
  log,
  dataFolder,
}: Pick<CountersPlace, 'fileSystem' | 'log'> & { readonly dataFolder: string }): Promise<Hold> {
  const place = { dataFolder, configurationPath: null, lookMilliseconds: LOOK_MS };
  return holdForServing({ ...lockPorts(fileSystem), ...place, log });
}
