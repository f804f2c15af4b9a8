import type { FileSystemPort } from '../core/ports.js';
import { failureCode } from './failure-words.js';

/** Whether something can be looked at here: false also where that is not allowed. */
export async function exists(fileSystem: Pick<FileSystemPort, 'stat'>, path: string): Promise<boolean> {
  return fileSystem.stat(path).then(
    () => true,
    () => false,
  );
}

/** Whether nothing stands here; what cannot be looked at for another reason is for whoever opens it to say. */
export async function isMissing(fileSystem: Pick<FileSystemPort, 'stat'>, path: string): Promise<boolean> {
  return fileSystem.stat(path).then(
    () => false,
    (error: unknown) => failureCode(error) === 'ENOENT',
  );
}

/** What a call to the file system gives, or null where there is nothing at its path; rejects as the call for any other reason. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | null> {
  return call.catch((error: unknown) => {
    if (failureCode(error) === 'ENOENT') return null;
    throw error;
  });
}
