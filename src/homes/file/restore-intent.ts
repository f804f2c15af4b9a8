import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { FileSystemPort } from '../../core/ports.js';
import type { Pieces } from '../../files/file-pieces.js';
import { createWhole } from '../../files/write-file.js';

/** The name that Keyways up to 0.9 gave what a command asked of them; theirs are finished, too. */
const INTENT = /^request-restore-[0-9a-f]{12}$/;
const FILE_MODE = 0o600;

/**
 * Puts a backup that is to be restored into the data folder, durably. Until it is forgotten, a start finishes the restore.
 * Resolves to its path, whose last part is remembered like a report's id with the counters that it brings.
 */
export async function noteRestore(fileSystem: FileSystemPort, dataFolder: string, backup: Pieces): Promise<string> {
  const path = join(dataFolder, `request-restore-${randomBytes(6).toString('hex')}`);
  const temporary = `${path}.tmp`;
  await createWhole(fileSystem, { path, temporary }, async () => {
    await fileSystem.create(temporary, Buffer.alloc(0), FILE_MODE, 'folder');
    for await (const piece of backup) await fileSystem.append(temporary, piece);
    await fileSystem.sync(temporary);
  });
  await fileSystem.syncFolder(dataFolder).catch(async (error: unknown) => {
    await fileSystem.remove(path).catch(() => undefined);
    throw error;
  });
  return path;
}

/** The paths of restores that were begun and are not forgotten. */
export async function notedRestores(fileSystem: FileSystemPort, dataFolder: string): Promise<readonly string[]> {
  const names = await fileSystem.list(dataFolder);
  return names.filter((name) => INTENT.test(name)).map((name) => join(dataFolder, name));
}

/** Refuses what a command of a Keyway up to 0.9 has asked for, which reads the reason where it still waits. */
export async function refuseEarlier(fileSystem: FileSystemPort, path: string): Promise<void> {
  await fileSystem.create(`${path}.refused`, Buffer.from(OF_EARLIER), FILE_MODE, 'folder').catch(() => undefined);
  await forgetRestore(fileSystem, dirname(path), path);
}

const OF_EARLIER = 'the Keyway that serves is of a later version, whose own command is needed';

/** Forgets a restore that is done, or refused. */
export async function forgetRestore(fileSystem: FileSystemPort, dataFolder: string, path: string): Promise<void> {
  await fileSystem.remove(path);
  await fileSystem.syncFolder(dataFolder);
}
