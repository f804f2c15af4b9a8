import { join } from 'node:path';
import type { FileSystemPort, LogPort } from '../../../core/ports.js';
import { failureWords } from '../../../platform/failure-words.js';
import { unlessMissing } from '../../../platform/presence.js';
import { CountersStoreError, namesIn, newestFormat, type StoreFormat, storeFolder } from './formats.js';
import { formatOf, listStore, type StoreFileName, type StoreReading } from './read-store.js';
import type { StoreRecord } from './records.js';
import type { PreviousLog } from './store-file.js';
import { isUnfinishedState } from './write-state.js';

export interface OpenedFolder {
  readonly folder: string;
  readonly format: number;
  readonly nextNumber: number;
  readonly previous: PreviousLog | null;
  /** 0 where there is no state. */
  readonly stateNumber: number;
  readonly stateBytes: number;
  readonly logBytes: number;
  /** More than the next start should find: it reads and syncs each of them. */
  readonly hasManyLogs: boolean;
  /** The records that were handed out do not stand in this folder yet. */
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
/** Each process that counts, be it a command, leaves a log. */
const MANY_FILES = 100;
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
  await makeStoreFolder(fileSystem, dataFolder, folder);
  for (const name of await fileSystem.list(folder)) {
    if (isUnfinishedState(name)) await fileSystem.remove(join(folder, name));
  }
  const source = await findSource(fileSystem, dataFolder, formats);
  // A Keyway that was killed may have left bytes in the system's memory alone: a repeated report is acknowledged by them.
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
  if (movedAside !== null) await makeStoreFolder(fileSystem, dataFolder, folder);
  return { ...NOTHING_YET, folder, format, mustRewrite: true, movedAside };
}

const SOUND = { mustRewrite: false, movedAside: null } as const;
const NOTHING_YET = {
  nextNumber: 1,
  previous: null,
  stateNumber: 0,
  stateBytes: 0,
  logBytes: 0,
  hasManyLogs: false,
} as const;

function numbersOf({ files, state, lastLog, logBytes }: StoreReading) {
  const nextNumber = files.reduce((most, { number }) => Math.max(most, number), 0) + 1;
  const hasManyLogs = files.length > MANY_FILES;
  const { number: stateNumber = 0, size: stateBytes = 0 } = state ?? {};
  return { nextNumber, previous: lastLog, stateNumber, stateBytes, logBytes, hasManyLogs };
}

/** Makes the folder of the store; its name is durable then. */
export async function makeStoreFolder(fileSystem: FileSystemPort, dataFolder: string, folder: string): Promise<void> {
  await fileSystem.makeFolder(folder, FOLDER_MODE, 'folder');
  await fileSystem.syncFolder(dataFolder);
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
    const files = (await unlessMissing(listStore(fileSystem, folder))) ?? [];
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
  const names = await namesIn(fileSystem, dataFolder);
  return Math.max(0, ...names.map((name) => Number(ASIDE_NAME.exec(name)?.[1] ?? 0)));
}

/** Returns the folder of the damaged store; null for a sound one. */
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
