import { crc32 } from 'node:zlib';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../wire/json/json.js';

/** The format of the store's files that this Keyway writes. */
export const FORMAT = 2;

/** The log before this one, and how much of it was durable when this one began. */
export interface PreviousLog {
  readonly number: number;
  readonly length: number;
}

/** The first line of a file of the store: JSON, then its checksum. */
export interface StoreFileHeader {
  readonly format: number;
  /** `state`: everything at one time; `log`: what changed since. */
  readonly kind: 'state' | 'log';
  readonly number: number;
  /** Null for a state and for the first log behind one. */
  readonly previous: PreviousLog | null;
  /** The last state that there was when a log began; 0 for a state, and where there was none. */
  readonly state: number;
  /** Goes into every checksum of the file, so that bytes of another file never pass for a batch of this one. */
  readonly salt: number;
}

const LF = 0x0a;
const MOST_HEADER_BYTES = 1024;
/** Begins every batch, so that one can be found behind damaged bytes. */
const MARK = Buffer.from('\nKWbatch');
/** Mark, length, checksum of the length, checksum of the bytes. */
const BATCH_HEADER_BYTES = MARK.length + 12;

export function headerLine({ format, kind, number, previous, state, salt }: StoreFileHeader): Buffer {
  const text = JSON.stringify({ keyway: 'counters', format, kind, number, previous, state, salt });
  return Buffer.from(`${text} ${crc32(text).toString(16).padStart(8, '0')}\n`);
}

/** The header and where the first batch begins, or null when these bytes do not begin with a header. */
export function readHeader(bytes: Buffer): { readonly header: StoreFileHeader; readonly end: number } | null {
  const end = bytes.subarray(0, MOST_HEADER_BYTES).indexOf(LF);
  if (end < 9) return null;
  const text = bytes.toString('latin1', 0, end - 9);
  if (bytes.toString('latin1', end - 9, end) !== ` ${crc32(text).toString(16).padStart(8, '0')}`) return null;
  const header = headerOf(parseOrNull(bytes.subarray(0, end - 9)));
  return header === null ? null : { header, end: end + 1 };
}

function parseOrNull(bytes: Buffer): JsonValue {
  try {
    return parseJson(bytes);
  } catch {
    return null;
  }
}

function headerOf(value: JsonValue): StoreFileHeader | null {
  if (!isJsonObject(value) || value.keyway !== 'counters') return null;
  const { kind, previous } = value;
  const [format, number, salt] = [whole(value, 'format'), whole(value, 'number'), whole(value, 'salt')];
  const state = whole(value, 'state');
  if (format === null || number === null || salt === null || state === null) return null;
  if (kind !== 'state' && kind !== 'log') return null;
  if (!isJsonObject(previous)) return { format, kind, number, previous: null, state, salt };
  const [before, length] = [whole(previous, 'number'), whole(previous, 'length')];
  return before === null || length === null
    ? null
    : { format, kind, number, previous: { number: before, length }, state, salt };
}

function whole(object: JsonObject, name: string): number | null {
  const value = object[name];
  return typeof value === 'bigint' ? Number(value) : null;
}

/** One batch: its records stand or fall together. */
export function batch(records: Buffer, salt: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + records.length);
  MARK.copy(bytes);
  bytes.writeUInt32LE(records.length, MARK.length);
  bytes.writeUInt32LE(lengthChecksum(records.length, salt), MARK.length + 4);
  bytes.writeUInt32LE(crc32(records, salt), MARK.length + 8);
  records.copy(bytes, BATCH_HEADER_BYTES);
  return bytes;
}

function lengthChecksum(length: number, salt: number): number {
  return crc32(`length ${length}`, salt);
}

/** The records of the batch that begins here, or null when no whole one does. */
export function batchAt(bytes: Buffer, at: number, salt: number): Buffer | null {
  if (at + BATCH_HEADER_BYTES > bytes.length || bytes.compare(MARK, 0, MARK.length, at, at + MARK.length) !== 0) {
    return null;
  }
  const length = bytes.readUInt32LE(at + MARK.length);
  if (bytes.readUInt32LE(at + MARK.length + 4) !== lengthChecksum(length, salt)) return null;
  const start = at + BATCH_HEADER_BYTES;
  if (start + length > bytes.length) return null;
  const records = bytes.subarray(start, start + length);
  return crc32(records, salt) === bytes.readUInt32LE(at + MARK.length + 8) ? records : null;
}

/** The end of the batch that begins here. */
export function batchEnd(at: number, records: Buffer): number {
  return at + BATCH_HEADER_BYTES + records.length;
}

/** The beginning of the next whole batch, from `at` on; null when there is none. */
export function nextBatch(bytes: Buffer, at: number, salt: number): number | null {
  for (let found = bytes.indexOf(MARK, at); found !== -1; found = bytes.indexOf(MARK, found + 1)) {
    if (batchAt(bytes, found, salt) !== null) return found;
  }
  return null;
}
