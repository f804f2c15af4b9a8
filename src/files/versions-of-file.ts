import { resolve } from 'node:path';
import type { KeptVersion } from '../core/backend.js';
import type { ClockPort, FileSystemPort, LogPort } from '../core/ports.js';
import { unlessMissing } from '../platform/presence.js';
import { checkDataFolder, dataFolderAt, openDataFolder } from './data-folder.js';
import { inDataFolder } from './foreign.js';
import { createKeptVersions, type KeptVersions } from './kept-versions.js';
import { readTarget } from './write-file.js';

/** A configuration file and where its kept versions are. */
export interface VersionsOptions {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly path: string;
  readonly dataFolder: string;
  /** Overwrites the file instead of replacing it: for one that is a mount point. Default false. */
  readonly inPlace?: boolean;
}

/** Lists the kept versions, oldest first, read-only. Rejects with `DataFolderError` if they are another file's. */
export async function listVersions(options: VersionsOptions): Promise<readonly KeptVersion[]> {
  return withVersions(options, (versions) => versions.list());
}

/** Runs `work` with the kept versions. Rejects with `DataFolderError` if they are another file's. */
async function withVersions<T>(options: VersionsOptions, work: (versions: KeptVersions) => Promise<T>): Promise<T> {
  const { fileSystem, clock, dataFolder, path } = options;
  return inDataFolder(fileSystem, { dataFolder, configPath: path }, async () => {
    await checkDataFolder(fileSystem, dataFolder, path);
    return work(createKeptVersions({ fileSystem, clock, folder: dataFolderAt(resolve(dataFolder)).versions }));
  });
}

/** Returns a kept version and its content. The id may be shortened as long as it is unique. Changes nothing. */
export async function readVersion(
  options: VersionsOptions,
  id: string,
): Promise<{ readonly version: KeptVersion; readonly content: Buffer }> {
  return withVersions(options, async (versions) => {
    const version = await versions.find(id);
    return { version, content: await versions.read(version.id) };
  });
}

/** Keeps the present content of the file as a version, even while a Keyway serves; a missing file has none. */
export async function keepVersion(options: VersionsOptions): Promise<void> {
  const { fileSystem, clock, dataFolder, path } = options;
  const present = await unlessMissing(readTarget(fileSystem, resolve(path)));
  if (present === null) return;
  await inDataFolder(fileSystem, { dataFolder, configPath: path }, async () => {
    const folder = await openDataFolder(fileSystem, dataFolder, resolve(path));
    await createKeptVersions({ fileSystem, clock, folder: folder.versions }).keep(present.bytes);
  });
}
