import { join } from 'node:path';
import type { FileSystemPort } from '../../../core/ports.js';
import { unlessMissing } from '../../../platform/presence.js';
import { readStore, type StoreFileName, type StoreReading } from './read-store.js';
import type { StoreRecord } from './records.js';
import { FORMAT } from './store-file.js';

/** The store cannot be used; the message says why and what to do. */
export class CountersStoreError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CountersStoreError';
  }
}

/** A format of the store: each has a folder of its own in the data folder, so that an upgrade leaves the old copy there. */
export interface StoreFormat {
  readonly format: number;
  read(
    fileSystem: FileSystemPort,
    folder: string,
    files: readonly StoreFileName[],
    each: (record: StoreRecord) => void,
  ): Promise<StoreReading>;
}

/** The formats that this Keyway reads, oldest first; it writes the last. */
export const STORE_FORMATS: readonly StoreFormat[] = [
  // The next format has further kinds of records and is read alike.
  { format: 1, read: readStore },
  { format: FORMAT, read: readStore },
];

const FOLDER_NAME = /^counters-(\d{1,6})$/;

export function storeFolder(dataFolder: string, format: number): string {
  return join(dataFolder, `counters-${format}`);
}

/** The format to write. Rejects when the folder has been used by a Keyway that writes a later one. */
export async function newestFormat(
  fileSystem: FileSystemPort,
  dataFolder: string,
  formats: readonly StoreFormat[],
): Promise<StoreFormat> {
  const newest = formats.at(-1);
  if (newest === undefined) throw new CountersStoreError('no format of the store is known');
  const present = await presentFormats(fileSystem, dataFolder);
  const later = present.filter((format) => format > newest.format);
  if (later.length === 0) return newest;
  const folders = later.map((format) => storeFolder(dataFolder, format));
  const older = present.find((format) => format <= newest.format);
  const goesBack = folders.map((folder) => `mv ${shellWord(folder)} ${shellWord(`${folder}.left`)}`).join(' && ');
  const gives =
    older === undefined ? 'starts without counters' : 'goes back to the counters as they were before the upgrade';
  throw new CountersStoreError(
    `The counters in ${dataFolder} were written by a newer Keyway (format ${Math.max(...later)}, this one reads up to ${newest.format}). ` +
      `Run that Keyway again; or this command ${gives}: ${goesBack} — ` +
      'to take the present counters along, let the newer Keyway write them with "keyway counters export" first and this one read them with "keyway counters import".',
  );
}

/** One word of a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function presentFormats(fileSystem: FileSystemPort, dataFolder: string): Promise<readonly number[]> {
  const names = await namesIn(fileSystem, dataFolder);
  return names.flatMap((name) => FOLDER_NAME.exec(name)?.[1] ?? []).map(Number);
}

/** None, where there is no such folder. */
export async function namesIn(fileSystem: FileSystemPort, folder: string): Promise<readonly string[]> {
  return (await unlessMissing(fileSystem.list(folder))) ?? [];
}
