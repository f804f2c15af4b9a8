import type { FileSystemPort } from '../core/ports.js';
import { failureCode } from './failure-words.js';

/** Tells whether something can be looked at here: false also where that is not allowed. */
export async function exists(fileSystem: Pick<FileSystemPort, 'stat'>, path: string): Promise<boolean> {
  return fileSystem.stat(path).then(
    () => true,
    () => false,
  );
}

/** Tells whether nothing stands here; for another reason not to be looked at, opening it gives the words. */
export async function isMissing(fileSystem: Pick<FileSystemPort, 'stat'>, path: string): Promise<boolean> {
  return fileSystem.stat(path).then(
    () => false,
    (error: unknown) => failureCode(error) === 'ENOENT',
  );
}

/** Returns the result of a call to the file system, or null where there is nothing at its path; rejects as the call for any other reason. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | null> {
  return call.catch((error: unknown) => {
    if (failureCode(error) === 'ENOENT') return null;
    throw error;
  });
}
