import { dirname } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import type { Pieces } from '../files/file-pieces.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { isMissing } from '../platform/presence.js';

const PRIVATE = 0o600;

/** Writes a new file, readable by its owner alone, durably. Rejects with an `Error` for people, having left none of its own. */
export async function writeNew(fileSystem: FileSystemPort, path: string, content: Pieces): Promise<void> {
  try {
    await fileSystem.create(path, Buffer.alloc(0), PRIVATE);
  } catch (error) {
    throw failureCode(error) === 'EEXIST' ? inTheWay(path) : cannotBeWritten(path, error);
  }
  try {
    for await (const piece of content) await fileSystem.append(path, piece);
    await fileSystem.sync(path);
    await fileSystem.syncFolder(dirname(path));
  } catch (error) {
    // Half of it would be taken for the whole, or be in the way of another attempt.
    await fileSystem.remove(path).catch(() => undefined);
    throw cannotBeWritten(path, error);
  }
}

/** Rejects with an `Error` for people where `writeNew` would find a file in its way. */
export async function refusePresent(fileSystem: FileSystemPort, path: string): Promise<void> {
  if (!(await isMissing(fileSystem, path))) throw inTheWay(path);
}

function inTheWay(path: string): Error {
  return new Error(`${path} exists already and is never overwritten: name another file, or move this one away`);
}

function cannotBeWritten(path: string, cause: unknown): Error {
  return new Error(`${path} cannot be written: ${failureWords(cause)}`, { cause });
}
