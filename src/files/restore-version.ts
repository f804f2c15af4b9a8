import { resolve } from 'node:path';
import type { KeptVersion } from '../document/retention.js';
import { unlessMissing } from '../platform/presence.js';
import { checkDataFolder, dataFolderAt, openDataFolder } from './data-folder.js';
import { inDataFolder } from './foreign.js';
import { createKeptVersions, type KeptVersions } from './kept-versions.js';
import { type VersionsOptions, withRewriting } from './rewrite-file.js';
import { readTarget, undisturbed } from './write-file.js';

/** The kept versions, oldest first. Changes nothing. Rejects with `DataFolderError` when they are another file's. */
export async function listVersions(options: VersionsOptions): Promise<readonly KeptVersion[]> {
  return withVersions(options, (versions) => versions.list());
}

/** Lets `work` use the kept versions. Rejects with `DataFolderError` when they are another file's. */
async function withVersions<T>(options: VersionsOptions, work: (versions: KeptVersions) => Promise<T>): Promise<T> {
  const { fileSystem, clock, dataFolder, path } = options;
  return inDataFolder(fileSystem, { dataFolder, configPath: path }, async () => {
    await checkDataFolder(fileSystem, dataFolder, path);
    return work(createKeptVersions({ fileSystem, clock, folder: dataFolderAt(resolve(dataFolder)).versions }));
  });
}

/** A kept version and what it holds. The id may be shortened as long as one version alone begins so. Changes nothing. */
export async function readVersion(
  options: VersionsOptions,
  id: string,
): Promise<{ readonly version: KeptVersion; readonly content: Buffer }> {
  return withVersions(options, async (versions) => {
    const version = await versions.find(id);
    return { version, content: await versions.read(version.id) };
  });
}

/**
 * Makes the configuration file, byte for byte, what it was in that version; the present content is kept first. A Keyway
 * that is serving notices it as an edit by hand. Resolves to the version that was restored; rejects with an error for
 * people, the file then being unchanged.
 */
export async function restoreVersion(options: VersionsOptions, id: string): Promise<KeptVersion> {
  const path = resolve(options.path);
  const { version, content } = await readVersion(options, id);
  await withRewriting(options, async ({ recover, rewrite }) => {
    await undisturbed(path, async () => {
      await recover();
      await rewrite(await unlessMissing(readTarget(options.fileSystem, path)), content);
    });
  });
  return version;
}

/** Keeps what the file holds now as the newest version, beside a Keyway that may be serving; one that is missing holds nothing. */
export async function keepVersion(options: VersionsOptions): Promise<void> {
  const { fileSystem, clock, dataFolder, path } = options;
  const present = await unlessMissing(readTarget(fileSystem, resolve(path)));
  if (present === null) return;
  await inDataFolder(fileSystem, { dataFolder, configPath: path }, async () => {
    const folder = await openDataFolder(fileSystem, dataFolder, resolve(path));
    await createKeptVersions({ fileSystem, clock, folder: folder.versions }).keep(present.bytes);
  });
}
