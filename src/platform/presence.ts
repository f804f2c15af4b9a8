import type { FileSystemPort } from '../core/ports.js';
import { failureCode } from './failure-words.js';

/** Tells whether this process can see something at a path; false also without permission. */
export async function exists(fileSystem: Pick<FileSystemPort, 'stat'>, path: string): Promise<boolean> {
  return fileSystem.stat(path).then(
    () => true,
    () => false,
  );
}

/** Tells whether nothing exists at a path. False for any other failure, which opening it will report. */
export async function isMissing(fileSystem: Pick<FileSystemPort, 'stat'>, path: string): Promise<boolean> {
  return fileSystem.stat(path).then(
    () => false,
    (error: unknown) => failureCode(error) === 'ENOENT',
  );
}

/**
 * Returns the result of a call to the file system, or null if there is nothing at its path; rejects as the call does
 * for any other reason.
 */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | null> {
  return call.catch((error: unknown) => {
    if (failureCode(error) === 'ENOENT') return null;
    throw error;
  });
}
