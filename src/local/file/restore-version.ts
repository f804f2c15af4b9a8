import { resolve } from 'node:path';
import type { ClockPort, FileSystemPort, LogPort } from '../../core/ports.js';
import { failureCode } from '../../platform/failure-words.js';
import { checkDataFolder, dataFolderAt, openDataFolder } from './data-folder.js';
import { withFileInHand } from './file-hold.js';
import { createInPlaceWriting } from './in-place.js';
import { createKeptVersions } from './kept-versions.js';
import { lockPorts } from './lock.js';
import type { KeptVersion } from './retention.js';
import { createTarget, readTarget, replaceTarget, TargetChangedError } from './write-file.js';

/** Where the kept versions of a configuration file are; for the command line, beside a Keyway that may be serving. */
export interface VersionsOptions {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly path: string;
  readonly dataFolder: string;
  /** As for `createConfigurationFile`. */
  readonly inPlace?: boolean;
}

const ATTEMPTS = 20;

/** The kept versions, oldest first. Changes nothing. Rejects with `DataFolderError` when they are another file's. */
export async function listVersions(options: VersionsOptions): Promise<readonly KeptVersion[]> {
  const { fileSystem, clock, dataFolder, path } = options;
  await checkDataFolder(fileSystem, dataFolder, path);
  return createKeptVersions({ fileSystem, clock, folder: dataFolderAt(resolve(dataFolder)).versions }).list();
}

/** A kept version and what it holds. The id may be shortened as long as one version alone begins so. Changes nothing. */
export async function readVersion(
  options: VersionsOptions,
  id: string,
): Promise<{ readonly version: KeptVersion; readonly content: Buffer }> {
  const { fileSystem, clock, dataFolder, path } = options;
  await checkDataFolder(fileSystem, dataFolder, resolve(path));
  const versions = createKeptVersions({ fileSystem, clock, folder: dataFolderAt(resolve(dataFolder)).versions });
  const version = await versions.find(id);
  return { version, content: await versions.read(version.id) };
}

/**
 * Makes the configuration file, byte for byte, what it was in that version; the present content is kept first. A Keyway
 * that is serving notices it as an edit by hand. Resolves to the version that was restored; rejects with an error for
 * people, the file then being unchanged.
 */
export async function restoreVersion(options: VersionsOptions, id: string): Promise<KeptVersion> {
  const { fileSystem, clock, log, dataFolder } = options;
  const path = resolve(options.path);
  const { version, content } = await readVersion(options, id);
  const { versions: folder, inPlaceCopy: copyPath } = await openDataFolder(fileSystem, dataFolder, path);
  const versions = createKeptVersions({ fileSystem, clock, folder });
  const overwriting = createInPlaceWriting({ fileSystem, copyPath, log, keep: versions.keep });
  await withFileInHand(lockPorts(fileSystem), path, async () => {
    await undisturbed(path, async () => {
      if (options.inPlace) await overwriting.recover(path);
      const present = await readTarget(fileSystem, path).catch((error: unknown) => {
        if (failureCode(error) === 'ENOENT') return null;
        throw error;
      });
      if (present === null) await createTarget(fileSystem, path, content);
      else {
        await versions.keep(present.bytes);
        if (options.inPlace) await overwriting.replace(present, content);
        else await replaceTarget(fileSystem, present, content);
      }
    });
  });
  return version;
}

async function undisturbed(path: string, attempt: () => Promise<void>): Promise<void> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!(error instanceof TargetChangedError)) throw error;
    }
  }
  throw new Error(`${path} is being written by another program all the time.`);
}
