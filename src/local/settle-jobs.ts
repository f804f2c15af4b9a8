import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort } from '../core/ports.js';
import { openLocalBackend } from './backend.js';
import { ConfigurationFileError } from './configuration/configuration-file.js';
import { noFileIn, openDataFolder } from './file/data-folder.js';
import type { Pieces } from './file/file-pieces.js';
import { InUseError } from './file/lock.js';
import { withRewriting } from './file/rewrite-file.js';
import { readTarget } from './file/write-file.js';
import { type RequestKind, requestOutcome, submitRequest } from './jobs/folder-requests.js';

/** A configuration file and its data folder, as a command names them. */
export interface StoredPlace {
  /** Null: counters without a configuration file. */
  readonly configPath: string | null;
  readonly dataFolder: string;
  readonly inPlace: boolean;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly progress: ProgressPort;
}

const LIMIT_MS = 120_000;
const OTHER_FOLDER = 'Or name the data folder that it was started with, so that it does this itself.';
const LOOK_MS = 100;

/**
 * Has a request done: by the Keyway that serves from the folder, or here when none does. Resolves once it is durable;
 * rejects with an error for people.
 */
export async function settleRequest(
  place: StoredPlace,
  kind: RequestKind,
  content: Pieces,
  configuration: Buffer | null,
): Promise<void> {
  const { fileSystem, dataFolder, configPath, clock, progress } = place;
  await openDataFolder(fileSystem, dataFolder, configPath ?? noFileIn(dataFolder));
  const request = await submitRequest(fileSystem, dataFolder, kind, content);
  try {
    const begun = clock.monotonic();
    for (;;) {
      const outcome = await requestOutcome(fileSystem, dataFolder, request);
      if (outcome?.refused) throw new Error(outcome.refused);
      if (outcome !== null) return;
      // What is done here is done, however long it took.
      if (!(await isServed(place, configuration))) continue;
      const waited = clock.monotonic() - begun;
      if (waited >= LIMIT_MS) {
        throw new Error(
          `the Keyway that serves from ${dataFolder} has not done it within ${LIMIT_MS / 1000} s: see its log`,
        );
      }
      progress.show(`waiting for the Keyway that serves: ${Math.floor(waited / 1000)} s`);
      await sleep(LOOK_MS);
    }
  } catch (error) {
    // Whoever was told that it failed must not find it done at the next start.
    await fileSystem.remove(request.path).catch(() => undefined);
    throw error;
  }
}

/** True when another Keyway serves from the folder; else does here what waits there. */
async function isServed(place: StoredPlace, configuration: Buffer | null): Promise<boolean> {
  try {
    await doHere(place);
    return false;
  } catch (error) {
    if (error instanceof InUseError) {
      if (error.of === 'folder') return true;
      throw new Error(`${error.message} ${OTHER_FOLDER}`, { cause: error });
    }
    const isUnreadable = error instanceof ConfigurationFileError && error.reason !== 'unreadable';
    if (!isUnreadable || configuration === null) throw error;
    await putConfiguration(place, configuration);
    return false;
  }
}

async function doHere({ configPath, dataFolder, ...place }: StoredPlace): Promise<void> {
  place.progress.show('reading the configuration file and its counters');
  const backend = await openLocalBackend({
    ...place,
    configPath,
    dataDir: dataFolder,
    pollMilliseconds: 0,
    watch: false,
  });
  await backend.jobs.look().finally(backend.close);
}

/** A file that is missing or broken, which is what backups are for, is put back before anything opens it. */
async function putConfiguration({ configPath, ...place }: StoredPlace, bytes: Buffer): Promise<void> {
  if (configPath === null) return;
  await withRewriting({ ...place, path: configPath }, async ({ rewrite }) =>
    rewrite(await readTarget(place.fileSystem, configPath).catch(() => null), bytes),
  );
}
