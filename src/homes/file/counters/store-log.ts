import { randomInt } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { FileSystemPort } from '../../../core/ports.js';
import { storeFileName } from './read-store.js';
import { batch, headerLine, type PreviousLog } from './store-file.js';

export const FILE_MODE = 0o600;

/**
 * The end of the store: batches are added to a log, each durable before the next. `previous` is the last log that was read,
 * whose end may be unfinished: this never adds to it.
 */
export function createStoreLog(
  fileSystem: FileSystemPort,
  folder: string,
  format: number,
  start: { readonly nextNumber: number; readonly previous: PreviousLog | null; readonly stateNumber: number },
) {
  let { nextNumber, previous, stateNumber } = start;
  let open: { readonly path: string; readonly number: number; readonly salt: number; length: number } | null = null;
  let bytes = 0;
  let turns = 0;

  async function begin(records: Buffer): Promise<void> {
    const begunAt = turns;
    const number = nextNumber;
    nextNumber += 1;
    const salt = newSalt();
    const path = join(folder, storeFileName('log', number));
    const header = headerLine({ format, kind: 'log', number, previous, state: stateNumber, salt });
    const content = Buffer.concat([header, batch(records, salt)]);
    try {
      await fileSystem.create(path, content, FILE_MODE, 'folder');
      await fileSystem.sync(path);
      await fileSystem.syncFolder(dirname(path));
    } catch (error) {
      await fileSystem.remove(path).catch(() => undefined);
      throw error;
    }
    added({ path, number, salt, length: content.length }, content.length, begunAt);
  }

  /** A turn that came meanwhile ends this log all the same: what is added to it later would go with it. */
  function added(log: NonNullable<typeof open>, length: number, begunAt: number): void {
    previous = { number: log.number, length: log.length };
    if (begunAt !== turns) return;
    open = log;
    bytes += length;
  }

  async function append(log: NonNullable<typeof open>, records: Buffer): Promise<void> {
    const begunAt = turns;
    const content = batch(records, log.salt);
    // Until it is durable nobody knows what the file holds from here on: a failure ends this log.
    open = null;
    await fileSystem.append(log.path, content);
    await fileSystem.sync(log.path);
    added({ ...log, length: log.length + content.length }, content.length, begunAt);
  }

  return {
    /** Resolves once the batch is durable; after a rejection it counts as not written, and the next goes to a new log. */
    add: (records: Buffer): Promise<void> => (open === null ? begin(records) : append(open, records)),
    /** Begins a new log with the next batch, and returns its number. */
    turn(): number {
      open = null;
      bytes = 0;
      turns += 1;
      return nextNumber;
    },
    /** Puts all into a new folder after the old one was lost, behind a state of the returned number, which nobody has used. */
    startOver(): number {
      open = null;
      previous = null;
      bytes = 0;
      turns += 1;
      nextNumber += 1;
      return nextNumber;
    },
    /** Names a later state in the logs that begin from now on. */
    goesOnFrom(state: number): void {
      stateNumber = state;
    },
    /** Bytes added since this was made or last turned. */
    get bytes() {
      return bytes;
    },
  };
}

export function newSalt(): number {
  return randomInt(2 ** 32);
}
