import { join, relative, resolve, sep } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { failureCode } from '../platform/failure-words.js';
import { DataFolderError } from './data-folder.js';

const NOT_OURS = new Set(['EACCES', 'EPERM']);

/** A data folder and its configuration file, if it has one. */
export interface FolderOfFile {
  readonly dataFolder: string;
  readonly configPath: string | null;
}

/**
 * Runs work in a data folder. Rejects as the work does; if the system refuses something in the folder, with a
 * `DataFolderError` that says who should own it, and how to change that.
 */
export async function inDataFolder<T>(
  fileSystem: Pick<FileSystemPort, 'stat' | 'user'>,
  place: FolderOfFile,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw (await foreign(fileSystem, place, error)) ?? error;
  }
}

async function foreign(
  fileSystem: Pick<FileSystemPort, 'stat' | 'user'>,
  { dataFolder, configPath }: FolderOfFile,
  error: unknown,
): Promise<DataFolderError | null> {
  const folder = resolve(dataFolder);
  const refused = refusedPath(error, folder);
  if (refused === null) return null;
  const found = await fileSystem.stat(folder).catch(() => null);
  if (found === null) return null;
  const user = await fileSystem.user();
  const owner = configPath === null ? null : await fileSystem.stat(resolve(configPath)).catch(() => null);
  const wanted = owner?.uid ?? user;
  const remedy =
    found.uid === wanted && wanted !== user
      ? `run this as user ${wanted}, whose file and folder they are`
      : `chown -R ${wanted ?? '$(id -u)'} ${folder}`;
  return new DataFolderError(
    `${refused} cannot be used by ${user === null ? 'this user' : `user ${user}`}: ${remedy}`,
    {
      cause: error,
    },
  );
}

/** Returns what the system refuses in the folder, as the start of a sentence; null for another error. */
function refusedPath(error: unknown, folder: string): string | null {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (!NOT_OURS.has(failureCode(each) ?? '') || !('path' in each) || typeof each.path !== 'string') continue;
    if (each.path === folder) return `The data folder ${folder}`;
    if (each.path.startsWith(join(folder, sep))) return `${relative(folder, each.path)} in the data folder ${folder}`;
  }
  return null;
}
