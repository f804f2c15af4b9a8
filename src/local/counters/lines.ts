import { crc32 } from 'node:zlib';
import type { KeptCounters } from '../../core/keys/types.js';
import { MAX_U64 } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../wire/json/json.js';

/** Counters and what belongs to them as text: one JSON object a line, integers exact. */
export interface StoredState {
  /** The configuration file, byte for byte; null where counters stand alone. */
  readonly configuration: Buffer | null;
  readonly counters: readonly KeptCounters[];
  /** Ids of remembered reports, oldest first; null where counters stand alone. */
  readonly reports: readonly string[] | null;
}

/** A text that is no such state; the message says what is wrong and in which line. */
export class LinesError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LinesError';
  }
}

const FORMAT = 1;
/** Lines between two words about how far it is. */
const TELL_EVERY = 1024;
const LF = 0x0a;

/** One line without its end. */
export function countersLine({ accessKey, bytesUp, bytesDown, connections, createdAt, leftAt }: KeptCounters): string {
  const left = leftAt === null ? '' : `,"left_at":${leftAt}`;
  return `{"access_key":${JSON.stringify(accessKey)},"bytes_up":${bytesUp},"bytes_down":${bytesDown},"connections":${connections},"created_at":${createdAt}${left}}`;
}

/** Told now and then which share of the text has been read, from 0 to 1. */
export type OnShare = (share: number) => void;

/** Reads lines of counters alone, as `keyway counters export` writes them. Throws `LinesError`. */
export function readCountersLines(text: Buffer, onShare?: OnShare): readonly KeptCounters[] {
  const lines = linesOf(text);
  const counters = lines.map(({ bytes, number }, index) => {
    tellShare(index, lines.length, onShare);
    return countersOf(objectOf(bytes, number), number);
  });
  const seen = new Set<string>();
  counters.forEach(({ accessKey }, index) => {
    if (seen.has(accessKey))
      throw new LinesError(`line ${index + 1}: ${JSON.stringify(accessKey)} comes a second time`);
    seen.add(accessKey);
  });
  return counters;
}

/** A whole state: a first line that names it, its parts, and a last line with a checksum of all before. */
export function writeState(state: StoredState, createdAt: number): Buffer {
  const { configuration, counters, reports } = state;
  const lines = [JSON.stringify({ keyway: 'state', format: FORMAT, created_at: createdAt })];
  if (configuration !== null) lines.push(JSON.stringify({ configuration: configuration.toString('base64') }));
  for (const one of counters) lines.push(countersLine(one));
  if (reports !== null) lines.push(JSON.stringify({ reports }));
  const body = Buffer.from(`${lines.join('\n')}\n`);
  return Buffer.concat([body, Buffer.from(`${JSON.stringify({ end: lines.length, crc32: crc32(body) })}\n`)]);
}

/** Reads what `writeState` wrote. Throws `LinesError` for anything that is not exactly that. */
export function readState(text: Buffer, onShare?: OnShare): StoredState {
  const lines = linesOf(text);
  const [first, last] = [lines[0], lines.at(-1)];
  if (first === undefined || last === undefined) throw new LinesError('the file is empty');
  const opening = objectOf(first.bytes, 1);
  if (opening.keyway !== 'state') throw new LinesError('line 1: expected the first line of a Keyway backup');
  if (opening.format !== BigInt(FORMAT)) {
    throw new LinesError(
      `line 1: expected format ${FORMAT}, found ${String(opening.format)}: use the Keyway that wrote it`,
    );
  }
  const ending = objectOf(last.bytes, last.number);
  if (ending.end !== BigInt(lines.length - 1) || ending.crc32 !== BigInt(crc32(text.subarray(0, last.start)))) {
    // Most damage shows where it is.
    partsOf(lines.slice(1, -1), undefined);
    throw new LinesError(
      `line ${last.number}: the file is damaged or not whole: its last line does not fit the others`,
    );
  }
  return partsOf(lines.slice(1, -1), onShare);
}

function tellShare(index: number, count: number, onShare: OnShare | undefined): void {
  if (index % TELL_EVERY === 0) onShare?.(index / count);
}

function partsOf(lines: readonly Line[], onShare: OnShare | undefined): StoredState {
  let configuration: Buffer | null = null;
  let reports: readonly string[] | null = null;
  const counters: KeptCounters[] = [];
  for (const [index, { bytes, number }] of lines.entries()) {
    tellShare(index, lines.length, onShare);
    const line = objectOf(bytes, number);
    if (typeof line.configuration === 'string') configuration = Buffer.from(line.configuration, 'base64');
    else if (Array.isArray(line.reports)) reports = line.reports.map(String);
    else counters.push(countersOf(line, number));
  }
  return { configuration, counters, reports };
}

interface Line {
  readonly bytes: Buffer;
  readonly start: number;
  /** From 1. */
  readonly number: number;
}

/** The lines that are not empty. */
function linesOf(text: Buffer): readonly Line[] {
  const lines: Line[] = [];
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf(LF, start);
    const end = found === -1 ? text.length : found;
    number += 1;
    const bytes = text.subarray(start, end);
    if (bytes.toString('latin1').trim() !== '') lines.push({ bytes, start, number });
    start = end + 1;
  }
  return lines;
}

function objectOf(bytes: Buffer, number: number): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(bytes);
  } catch (error) {
    throw new LinesError(`line ${number}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isJsonObject(value)) throw new LinesError(`line ${number}: expected a JSON object`);
  return value;
}

function countersOf(line: JsonObject, number: number): KeptCounters {
  const { access_key: accessKey } = line;
  if (typeof accessKey !== 'string' || accessKey === '') {
    throw new LinesError(`line ${number}: access_key: expected a string that is not empty`);
  }
  const count = (name: string): bigint => {
    const value = line[name];
    if (typeof value === 'bigint' && value >= 0n && value <= MAX_U64) return value;
    throw new LinesError(`line ${number}: ${name}: expected an unsigned 64-bit integer`);
  };
  const time = (name: string): number => {
    const value = line[name];
    if (typeof value === 'bigint' && value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    throw new LinesError(`line ${number}: ${name}: expected milliseconds since 1970 as a whole number`);
  };
  return {
    accessKey,
    bytesUp: count('bytes_up'),
    bytesDown: count('bytes_down'),
    connections: count('connections'),
    createdAt: time('created_at'),
    leftAt: line.left_at === undefined || line.left_at === null ? null : time('left_at'),
  };
}
