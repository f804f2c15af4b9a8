import { join } from 'node:path';
import { DomainError } from '../core/errors.js';
import { FILE_LIMITS } from '../core/file-limits.js';
import { LocalRecords, type RecordChange, type RecordKind, RecordTable } from '../core/kept-records.js';
import type { FileSystemPort, LogPort } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import type { Hold } from './hold.js';
import { createLineJournal } from './line-journal.js';
import { removeStaleTemporaries } from './write-file.js';

export const RECORDS_FILE = 'records.jsonl';

const LF = 0x0a;

export interface RecordsFileOptions {
  readonly fileSystem: FileSystemPort;
  /** The data folder, which exists and is held. */
  readonly folder: string;
  readonly log: LogPort;
  /** Tells when the folder was made again, empty, so that the records are written there again. */
  readonly hold?: Pick<Hold, 'onMadeAgain'> | null;
}

/**
 * Opens Keyway's own records in the data folder: a line for each write, with everything it changed. Rejects with the
 * file system's error.
 */
export async function openRecordsFile({ fileSystem, folder, log, hold }: RecordsFileOptions): Promise<LocalRecords> {
  const path = join(folder, RECORDS_FILE);
  await removeStaleTemporaries(fileSystem, path);
  const bytes = await unlessMissing(fileSystem.read(path, FILE_LIMITS.counters));
  const table = new RecordTable();
  if (bytes !== null) {
    // A killed Keyway may have left records in the system's cache alone; they must be durable before they are acted
    // upon.
    await fileSystem.sync(path);
    await fileSystem.syncFolder(folder);
    for (const changes of linesOf(bytes)) table.take(changes);
  }
  const journal = createLineJournal({
    ...{ fileSystem, path },
    whole: (lines) => wholeOf(table.all(), lines),
  });
  let isFailing = false;
  const records = new LocalRecords(table, async (changes) => {
    try {
      await journal.write(lineOf(changes));
      isFailing = false;
    } catch (error) {
      const reason = failureWords(error);
      if (!isFailing)
        log.error({ file: path, reason }, 'tokens, jobs and other records of Keyway itself cannot be written');
      isFailing = true;
      throw new DomainError('saveFailed');
    }
  });
  hold?.onMadeAgain(() => {
    // Written as it is, one of them brings all others; where it is another by then, that write has.
    const again = table.all().slice(0, 1);
    records.change(again.map((record) => ({ ...record, expected: record.body }))).catch(() => undefined);
  });
  return records;
}

/** Reads the records in a data folder as they are, and changes nothing. Rejects with the file system's error. */
export async function readRecordsFile(fileSystem: FileSystemPort, folder: string): Promise<RecordTable> {
  const bytes = await unlessMissing(fileSystem.read(join(folder, RECORDS_FILE), FILE_LIMITS.counters));
  const table = new RecordTable();
  for (const changes of bytes === null ? [] : linesOf(bytes)) table.take(changes);
  return table;
}

function* wholeOf(all: readonly RecordChange[], lines: string): Generator<string, void> {
  for (const record of all) yield lineOf([record]);
  yield lines;
}

function lineOf(changes: readonly RecordChange[]): string {
  return `${JSON.stringify(changes.map(({ kind, id, body }) => [kind, id, body]))}\n`;
}

/** Yields the changes of each line, skipping torn ones. */
function* linesOf(bytes: Buffer): Generator<readonly RecordChange[]> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(LF, from);
    if (end === -1) return;
    yield changesOf(bytes.toString('utf8', from, end));
    from = end + 1;
  }
}

function changesOf(line: string): readonly RecordChange[] {
  try {
    const changes: unknown = JSON.parse(line);
    return Array.isArray(changes) ? changes.flatMap(changeOf) : [];
  } catch {
    return [];
  }
}

function changeOf(change: unknown): readonly RecordChange[] {
  const [kind, id, body]: readonly unknown[] = Array.isArray(change) ? change : [];
  if (typeof kind !== 'string' || typeof id !== 'string') return [];
  if (typeof body !== 'string' && body !== null) return [];
  // The record of a later Keyway is left alone.
  return [{ kind: kind as RecordKind, id, body }];
}
