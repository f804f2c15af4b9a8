import { dirname } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { isMissing } from '../platform/presence.js';

const PRIVATE = 0o600;

/** Writes a new file, readable by its owner alone, durably. Rejects with an `Error` for people, having left none of its own. */
export async function writeNew(fileSystem: FileSystemPort, path: string, text: string): Promise<void> {
  try {
    await fileSystem.create(path, Buffer.from(text), PRIVATE);
    await fileSystem.sync(path);
    await fileSystem.syncFolder(dirname(path));
  } catch (error) {
    if (failureCode(error) === 'EEXIST') throw inTheWay(path);
    // Half of it would be taken for the whole, or be in the way of another attempt.
    await fileSystem.remove(path).catch(() => undefined);
    throw new Error(`${path} cannot be written: ${failureWords(error)}`, { cause: error });
  }
}

/** Rejects with an `Error` for people where `writeNew` would find a file in its way. */
export async function refusePresent(fileSystem: FileSystemPort, path: string): Promise<void> {
  if (!(await isMissing(fileSystem, path))) throw inTheWay(path);
}

function inTheWay(path: string): Error {
  return new Error(`${path} exists already and is never overwritten: name another file, or move this one away`);
}
