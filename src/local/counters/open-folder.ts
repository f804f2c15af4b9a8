import { join } from 'node:path';
import type { FileSystemPort, LogPort } from '../../core/ports.js';
import { failureCode, failureWords } from '../failure-words.js';
import { formatOf, listStore, readStore, type StoreFileName, type StoreReading } from './read-store.js';
import type { StoreRecord } from './records.js';
import { FORMAT, type PreviousLog } from './store-file.js';
import { isUnfinishedState } from './write-state.js';

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
export const STORE_FORMATS: readonly StoreFormat[] = [{ format: FORMAT, read: readStore }];

export interface OpenedFolder {
  readonly folder: string;
  readonly format: number;
  readonly nextNumber: number;
  readonly previous: PreviousLog | null;
  /** 0 where there is no state. */
  readonly stateNumber: number;
  readonly stateBytes: number;
  readonly logBytes: number;
  /** What was handed out does not stand in this folder yet. */
  readonly mustRewrite: boolean;
  readonly movedAside: string | null;
}

export interface OpenFolderOptions {
  readonly fileSystem: FileSystemPort;
  readonly dataFolder: string;
  readonly formats: readonly StoreFormat[];
  readonly log: LogPort;
}

const FOLDER_MODE = 0o700;
const FOLDER_NAME = /^counters-(\d{1,6})$/;

export function storeFolder(dataFolder: string, format: number): string {
  return join(dataFolder, `counters-${format}`);
}

/** Finds the store, makes it where there is none, and reads it. Rejects with `CountersStoreError`. */
export async function openStoreFolder(
  options: OpenFolderOptions,
  each: (record: StoreRecord) => void,
): Promise<OpenedFolder> {
  try {
    return await open(options, each);
  } catch (error) {
    if (error instanceof CountersStoreError) throw error;
    const message = `The counters in ${options.dataFolder} cannot be used: ${failureWords(error)}. Name another data folder with --data-dir.`;
    throw new CountersStoreError(message, { cause: error });
  }
}

async function open(options: OpenFolderOptions, each: (record: StoreRecord) => void): Promise<OpenedFolder> {
  const { fileSystem, dataFolder, formats, log } = options;
  const { format } = await newestFormat(fileSystem, dataFolder, formats);
  const folder = storeFolder(dataFolder, format);
  await make(fileSystem, dataFolder, folder);
  for (const name of await fileSystem.list(folder)) {
    if (isUnfinishedState(name)) await fileSystem.remove(join(folder, name));
  }
  const source = await findSource(fileSystem, dataFolder, formats);
  // What a Keyway that was killed has left may be in the system's memory alone: a repeated report is acknowledged by it.
  for (const { name } of source.files) await fileSystem.sync(join(source.folder, name));
  // A file whose removal is not durable would come back.
  await fileSystem.syncFolder(source.folder);
  const reading = await source.format.read(fileSystem, source.folder, source.files, each);
  if (reading.unfinished > 0) {
    log.warn(
      { folder, bytes: reading.unfinished },
      'the last write of counters was interrupted and is left out: it was never acknowledged as durable',
    );
  }
  const movedAside = await asideOf(options, source, reading.damage);
  if (source.folder !== folder && movedAside === null) {
    log.info(
      { from: source.folder, to: folder },
      'the counters are written in a new format; the old copy stays where it is',
    );
  }
  if (source.folder === folder && movedAside === null) return { ...numbersOf(reading), folder, format, ...SOUND };
  if (movedAside !== null) await make(fileSystem, dataFolder, folder);
  return { ...NOTHING_YET, folder, format, mustRewrite: true, movedAside };
}

const SOUND = { mustRewrite: false, movedAside: null } as const;
const NOTHING_YET = { nextNumber: 1, previous: null, stateNumber: 0, stateBytes: 0, logBytes: 0 } as const;

function numbersOf({ files, state, lastLog, logBytes }: StoreReading) {
  const nextNumber = files.reduce((most, { number }) => Math.max(most, number), 0) + 1;
  return { nextNumber, previous: lastLog, stateNumber: state?.number ?? 0, stateBytes: state?.size ?? 0, logBytes };
}

async function make(fileSystem: FileSystemPort, dataFolder: string, folder: string): Promise<void> {
  await fileSystem.makeFolder(folder, FOLDER_MODE);
  await fileSystem.syncFolder(dataFolder);
}

/** The format to write. Rejects when the folder has been used by a Keyway that writes a later one. */
async function newestFormat(
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
  const goesBack = folders.map((folder) => `mv '${folder}' '${folder}.left'`).join(' && ');
  const gives =
    older === undefined ? 'starts without counters' : 'goes back to the counters as they were before the upgrade';
  throw new CountersStoreError(
    `The counters in ${dataFolder} were written by a newer Keyway (format ${Math.max(...later)}, this one reads up to ${newest.format}). ` +
      `Run that Keyway again; or this command ${gives}: ${goesBack} — ` +
      'to take the present counters along, let the newer Keyway write them with "keyway counters export" first and this one read them with "keyway counters import".',
  );
}

async function presentFormats(fileSystem: FileSystemPort, dataFolder: string): Promise<readonly number[]> {
  const names = await fileSystem.list(dataFolder);
  return names.flatMap((name) => FOLDER_NAME.exec(name)?.[1] ?? []).map(Number);
}

export interface Source {
  readonly format: StoreFormat;
  readonly folder: string;
  readonly files: readonly StoreFileName[];
  /** It was moved aside before, by a start that was interrupted before it had written what it could read. */
  readonly isAside: boolean;
}

/** The newest folder that has anything in it; the current format's when none has. */
export async function findSource(
  fileSystem: FileSystemPort,
  dataFolder: string,
  formats: readonly StoreFormat[],
): Promise<Source> {
  let empty: Source | null = null;
  for (const format of formats.toReversed()) {
    const folder = storeFolder(dataFolder, format.format);
    const files = await listStore(fileSystem, folder).catch((error: unknown) => {
      if (failureCode(error) === 'ENOENT') return [];
      throw error;
    });
    if (files.length > 0) return { format, folder, files, isAside: false };
    empty ??= { format, folder, files, isAside: false };
  }
  if (empty === null) throw new CountersStoreError('no format of the store is known');
  const number = await lastAside(fileSystem, dataFolder);
  if (number === 0) return empty;
  return { ...(await sourceIn(fileSystem, join(dataFolder, asideName(number)), formats)), isAside: true };
}

/** A folder whose name does not say which format it has: its files do. */
export async function sourceIn(
  fileSystem: FileSystemPort,
  folder: string,
  formats: readonly StoreFormat[],
): Promise<Source> {
  const files = await listStore(fileSystem, folder);
  const found = await formatOf(fileSystem, folder, files);
  const format = formats.find((one) => one.format === found) ?? formats.at(-1);
  if (format === undefined) throw new CountersStoreError('no format of the store is known');
  return { format, folder, files, isAside: false };
}

const ASIDE_NAME = /^damaged-counters-(\d{1,6})$/;

function asideName(number: number): string {
  return `damaged-counters-${number}`;
}

/** 0 when no store was ever moved aside. */
async function lastAside(fileSystem: FileSystemPort, dataFolder: string): Promise<number> {
  const names = await fileSystem.list(dataFolder).catch((error: unknown) => {
    if (failureCode(error) === 'ENOENT') return [];
    throw error;
  });
  return Math.max(0, ...names.map((name) => Number(ASIDE_NAME.exec(name)?.[1] ?? 0)));
}

/** Where the damaged store is; null for a sound one. */
async function asideOf(options: OpenFolderOptions, source: Source, damage: readonly string[]): Promise<string | null> {
  if (source.isAside) return source.folder;
  return damage.length > 0 ? moveAside(options, source.folder, damage) : null;
}

/** Gives a damaged store another name, so that nothing writes into it any more. */
async function moveAside(
  { fileSystem, dataFolder, log }: OpenFolderOptions,
  folder: string,
  damage: readonly string[],
): Promise<string> {
  const aside = join(dataFolder, asideName((await lastAside(fileSystem, dataFolder)) + 1));
  await fileSystem.rename(folder, aside);
  await fileSystem.syncFolder(dataFolder);
  log.error(
    { folder, movedTo: aside, damage },
    `the store of counters is damaged and was moved to ${aside}; what could be read of it is used: check the counters, or put a backup back with "keyway restore"`,
  );
  return aside;
}
