import { join } from 'node:path';
import { FILE_LIMITS } from '../../../core/file-limits.js';
import type { FileSystemPort } from '../../../core/ports.js';
import { readRecords, type StoreRecord } from './records.js';
import { batchAt, batchEnd, nextBatch, type PreviousLog, readHeader, type StoreFileHeader } from './store-file.js';

export interface StoreFileName {
  readonly name: string;
  readonly kind: 'state' | 'log';
  readonly number: number;
  /** Bytes that are looked at; what was added later is not. */
  readonly size: number;
}

/** The findings of reading a store, besides its records. */
export interface StoreReading {
  /** The state that was read; null when there is none yet. */
  readonly state: StoreFileName | null;
  /** The last log that could be read, and how much of it. */
  readonly lastLog: PreviousLog | null;
  readonly logBytes: number;
  /** Bytes at the end of the last log that were never finished: a write that a crash interrupted. */
  readonly unfinished: number;
  /** Faults that cannot come about by crashes, one sentence each; then whatever could be read was handed out. */
  readonly damage: readonly string[];
  /** Every file of the store, also those that are of no use any more. */
  readonly files: readonly StoreFileName[];
}

const NAME = /^(state|log)-(\d{10})$/;

export function storeFileName(kind: 'state' | 'log', number: number): string {
  return `${kind}-${String(number).padStart(10, '0')}`;
}

/**
 * The store's files at this moment, in the order of their numbers. Only the last log grows, and batches are added one
 * after the other, so that the sizes stand for one state even while a Keyway is writing.
 */
export async function listStore(fileSystem: FileSystemPort, folder: string): Promise<readonly StoreFileName[]> {
  const files: StoreFileName[] = [];
  for (const name of [...(await fileSystem.list(folder))].sort(byNumber)) {
    const [, kind, number] = NAME.exec(name) ?? [];
    if (kind !== 'state' && kind !== 'log') continue;
    const { size } = await fileSystem.stat(join(folder, name));
    files.push({ name, kind, number: Number(number), size: Number(size) });
  }
  return files;
}

/** The format that the files themselves name; null when none of them can be read. */
export async function formatOf(
  fileSystem: FileSystemPort,
  folder: string,
  files: readonly StoreFileName[],
): Promise<number | null> {
  for (const { name } of files) {
    const found = readHeader(await fileSystem.read(join(folder, name), FILE_LIMITS.counters));
    if (found !== null) return found.header.format;
  }
  return null;
}

/** `log-0000000002` before `state-0000000003`: the file that grows is looked at last. */
function byNumber(a: string, b: string): number {
  const number = (name: string) => name.slice(name.indexOf('-') + 1);
  return number(a) < number(b) ? -1 : number(a) > number(b) ? 1 : a < b ? 1 : -1;
}

/** Reads a store as it was listed, handing out its records in their order. Rejects with the file system's error. */
export async function readStore(
  fileSystem: FileSystemPort,
  folder: string,
  files: readonly StoreFileName[],
  each: (record: StoreRecord) => void,
): Promise<StoreReading> {
  const damage: string[] = [];
  const state = files.findLast(({ kind }) => kind === 'state') ?? null;
  if (state !== null) await readState(fileSystem, folder, state, damage, each);
  const names = files.filter(({ kind, number }) => kind === 'log' && number >= (state?.number ?? 0));
  const logs = await Promise.all(names.map((name) => openLog(fileSystem, folder, name)));
  const demanded = new Map<number, number>();
  for (const { header } of logs) {
    const previous = header?.previous ?? null;
    if (previous !== null && previous.number >= (state?.number ?? 0)) demanded.set(previous.number, previous.length);
  }
  for (const number of demanded.keys()) {
    if (!names.some((name) => name.number === number)) damage.push(`${storeFileName('log', number)} is missing`);
  }
  const lastState = Math.max(0, ...logs.map(({ header }) => header?.state ?? 0));
  if (lastState > (state?.number ?? 0)) damage.push(`${storeFileName('state', lastState)} is missing`);
  let lastLog: PreviousLog | null = null;
  let unfinished = 0;
  for (const log of logs) {
    const length = readLog(log, demanded.get(log.name.number) ?? null, damage, each);
    if (length > 0) lastLog = { number: log.name.number, length };
    unfinished = log.bytes.length - length;
  }
  const logBytes = names.reduce((sum, { size }) => sum + size, 0);
  return { state, lastLog, logBytes, unfinished, damage, files };
}

/** A state came under its name after it was durable: every fault in it is damage. */
async function readState(
  fileSystem: FileSystemPort,
  folder: string,
  file: StoreFileName,
  damage: string[],
  each: (record: StoreRecord) => void,
): Promise<void> {
  const bytes = await fileSystem.read(join(folder, file.name), FILE_LIMITS.counters);
  const found = readHeader(bytes);
  if (found === null || found.header.kind !== 'state' || found.header.number !== file.number) {
    damage.push(`${file.name} does not begin as a state does`);
    return;
  }
  let records = 0;
  let expected: number | null = null;
  const end = readBatches(bytes, found.end, found.header.salt, damage, file.name, (record) => {
    if (record.kind === 'end') expected = record.records;
    else {
      records += 1;
      each(record);
    }
  });
  if (expected !== records || end !== bytes.length) {
    const wanted = expected === null ? 'its end is missing' : `${records} of ${expected} records can be read`;
    damage.push(`${file.name} is not whole: ${wanted}`);
  }
}

interface OpenLog {
  readonly name: StoreFileName;
  readonly bytes: Buffer;
  readonly header: StoreFileHeader | null;
  readonly start: number;
}

async function openLog(fileSystem: FileSystemPort, folder: string, name: StoreFileName): Promise<OpenLog> {
  const bytes = (await fileSystem.read(join(folder, name.name), FILE_LIMITS.counters)).subarray(0, name.size);
  const found = readHeader(bytes);
  const isIt = found !== null && found.header.kind === 'log' && found.header.number === name.number;
  return isIt ? { name, bytes, header: found.header, start: found.end } : { name, bytes, header: null, start: 0 };
}

/** Returns how many bytes of it count. `demanded` of them were durable before the next log began. */
function readLog(
  { name, bytes, header, start }: OpenLog,
  demanded: number | null,
  damage: string[],
  each: (record: StoreRecord) => void,
): number {
  if (header === null) {
    if (demanded !== null) damage.push(`${name.name} does not begin as a log does`);
    return 0;
  }
  const counted = demanded === null ? bytes : bytes.subarray(0, demanded);
  const end = readBatches(counted, start, header.salt, damage, name.name, each);
  if (demanded !== null && end < demanded) {
    damage.push(`${name.name} can be read for ${end} of the ${demanded} bytes that it had`);
  }
  return end;
}

/** Reads batch after batch; one that cannot be read with others behind it is damage. Returns where the last one ends. */
function readBatches(
  bytes: Buffer,
  start: number,
  salt: number,
  damage: string[],
  name: string,
  each: (record: StoreRecord) => void,
): number {
  let at = start;
  for (;;) {
    const records = batchAt(bytes, at, salt);
    if (records !== null) {
      try {
        readRecords(records, each);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        damage.push(`${name} has a batch at byte ${at} that cannot be understood: ${error.message}`);
      }
      at = batchEnd(at, records);
      continue;
    }
    const next = at < bytes.length ? nextBatch(bytes, at, salt) : null;
    if (next === null) return at;
    damage.push(`${name} cannot be read from byte ${at} to ${next}`);
    at = next;
  }
}
