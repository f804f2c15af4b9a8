import { join } from 'node:path';
import type { KeptCounters } from '../../../core/keys/types.js';
import type { FileSystemPort } from '../../../core/ports.js';
import type { PostedCounters } from './posted-counters.js';
import { storeFileName } from './read-store.js';
import { createRecordWriter, type RecordWriter } from './records.js';
import type { Renewal } from './recreated-keys.js';
import { batch, headerLine } from './store-file.js';
import { FILE_MODE, newSalt } from './store-log.js';

export interface StateContent {
  readonly counters: Iterable<KeptCounters>;
  /** Asked for at the end, as are the renewals. */
  readonly reports: () => readonly string[];
  readonly renewals: () => readonly Renewal[];
  readonly sources: Pick<PostedCounters, 'all' | 'bases'>;
}

/** Records that are made in one turn of the event loop. */
const RECORDS_AT_ONCE = 2_000;
const TEMPORARY = '.tmp';

/**
 * Writes a state under a temporary name while the log goes on, some records at a time; resolves to its size. Later
 * records are newer than earlier ones, so the state is consistent only together with the log that was begun with it.
 * `finishState` makes it count.
 */
export async function writeState(
  fileSystem: FileSystemPort,
  folder: string,
  { format, number }: { readonly format: number; readonly number: number },
  content: StateContent,
): Promise<number> {
  const path = join(folder, storeFileName('state', number) + TEMPORARY);
  const salt = newSalt();
  const header = headerLine({ format, kind: 'state', number, previous: null, state: 0, salt });
  await fileSystem.remove(path).catch(() => undefined);
  await fileSystem.create(path, header, FILE_MODE, 'folder');
  let size = header.length;
  const writer = createRecordWriter();
  const put = async () => {
    const bytes = batch(writer.take(), salt);
    size += bytes.length;
    await fileSystem.append(path, bytes);
  };
  let inBatch = 0;
  for (const counters of content.counters) {
    writer.counters(counters);
    inBatch += 1;
    if (inBatch < RECORDS_AT_ONCE) continue;
    inBatch = 0;
    await put();
  }
  for (const renewal of content.renewals()) writer.renewing(renewal);
  for (const id of content.reports()) writer.report(id);
  for (const record of sourceRecords(content.sources)) {
    record(writer);
    inBatch += 1;
    if (inBatch < RECORDS_AT_ONCE) continue;
    inBatch = 0;
    await put();
  }
  writer.end();
  await put();
  await fileSystem.sync(path);
  return size;
}

/** Everything of the sources, one record at a time; a source stands before its bases. */
export function* sourceRecords(sources: StateContent['sources']): Generator<(writer: RecordWriter) => void, void> {
  for (const source of sources.all()) {
    yield (writer) => writer.source(source);
    for (const base of sources.bases(source.name)) yield (writer) => writer.base(base);
  }
}

/**
 * Writes a state whose records were made in one turn, where there is no log that it could begin with yet; resolves to
 * its size. It counts once it has its name, and nothing else is written into the folder before.
 */
export async function writeFirstState(
  fileSystem: FileSystemPort,
  folder: string,
  { format, number }: { readonly format: number; readonly number: number },
  records: Buffer,
): Promise<number> {
  const path = join(folder, storeFileName('state', number) + TEMPORARY);
  const salt = newSalt();
  const header = headerLine({ format, kind: 'state', number, previous: null, state: 0, salt });
  const content = Buffer.concat([header, batch(records, salt)]);
  await fileSystem.remove(path).catch(() => undefined);
  try {
    await fileSystem.create(path, content, FILE_MODE, 'folder');
    await fileSystem.sync(path);
  } catch (error) {
    await fileSystem.remove(path).catch(() => undefined);
    throw error;
  }
  await finishState(fileSystem, folder, number);
  return content.length;
}

/** Gives a written state its name, durably. */
export async function finishState(fileSystem: FileSystemPort, folder: string, number: number): Promise<void> {
  const path = join(folder, storeFileName('state', number));
  await fileSystem.rename(path + TEMPORARY, path);
  await fileSystem.syncFolder(folder);
}

/** Removes a state that has no name yet. */
export async function discardState(fileSystem: FileSystemPort, folder: string, number: number): Promise<void> {
  await fileSystem.remove(join(folder, storeFileName('state', number) + TEMPORARY)).catch(() => undefined);
}

export function isUnfinishedState(name: string): boolean {
  return name.startsWith('state-') && name.endsWith(TEMPORARY);
}
