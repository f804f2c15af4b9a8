import { crc32 } from 'node:zlib';
import { messageOf } from '../../../core/errors.js';
import { FILE_LIMITS } from '../../../core/file-limits.js';
import type { KeptCounters } from '../../../core/keys/types.js';
import { MAX_U64 } from '../../../core/model.js';
import { eachLine, type Pieces, type TextLine } from '../../../files/file-pieces.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../wire/json/json.js';
import { type ManyCounters, PackedCounters } from './packed-counters.js';
import type { Base, Source } from './posted-counters.js';
import { readSourceLine, type StoredSources, sourceLines } from './source-lines.js';

/** Counters and what belongs to them as text: one JSON object a line, integers exact. */
export interface StoredState {
  /** The configuration file, byte for byte; null where counters stand alone. */
  readonly configuration: Buffer | null;
  readonly counters: ManyCounters;
  /** Ids of remembered reports, oldest first; null where counters stand alone. */
  readonly reports: readonly string[] | null;
  /** Null where counters stand alone, and in what an earlier Keyway has written. */
  readonly sources: StoredSources | null;
  /** The notes of keys as Keyway's records have them, by their keys: none where counters stand alone. */
  readonly notes: ReadonlyMap<string, string>;
}

/** A text that is no such state; the message says what is wrong and in which line. */
export class LinesError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LinesError';
  }
}

/** The formats that are read. The least that has room for the state is written, so that earlier Keyways read it too. */
const FORMATS = { plain: 1n, sources: 2n, notes: 3n } as const;
/** Text is put together up to this many characters at a time. */
const PIECE_CHARACTERS = 64 * 1024;
/** A multiple of 3, so that the base64 of one slice goes on with that of the next. */
const SLICE_BYTES = 3 * 16 * 1024;
const CONFIGURATION = Buffer.from('{"configuration":"');
/** Bytes of a line; the first shows whether the rest is worth reading. */
const MOST_FIRST_LINE = 1024 * 1024;
/** The configuration is the longest: base64, and what stands around it. */
const MOST_LINE = Math.ceil(FILE_LIMITS.configuration / 3) * 4 + 64;

/** One line without its end. */
export function countersLine({ accessKey, bytesUp, bytesDown, connections, createdAt, leftAt }: KeptCounters): string {
  const left = leftAt === null ? '' : `,"left_at":${leftAt}`;
  return `{"access_key":${JSON.stringify(accessKey)},"bytes_up":${bytesUp},"bytes_down":${bytesDown},"connections":${connections},"created_at":${createdAt}${left}}`;
}

/** Reads lines of counters alone, as `keyway counters export` writes them. Rejects with `LinesError`. */
export async function readCountersLines(text: Pieces): Promise<readonly KeptCounters[]> {
  const counters: KeptCounters[] = [];
  const seen = new Set<string>();
  await eachLine(text, checkLength, (line) => {
    if (isBlank(line)) return;
    const one = countersOf(objectOf(line), line.number);
    if (seen.has(one.accessKey))
      throw new LinesError(`line ${line.number}: ${JSON.stringify(one.accessKey)} comes a second time`);
    seen.add(one.accessKey);
    counters.push(one);
  });
  return counters;
}

/**
 * A whole state, piece by piece: a first line that names it, its parts, and a last line with how many lines come before it
 * and a checksum of them.
 */
export async function* writeState(state: WrittenState, createdAt: number): AsyncGenerator<Buffer, void> {
  let lines = 0;
  let checksum = 0;
  const countLine = () => {
    lines += 1;
  };
  for await (const piece of piecesOfText(textsOf(state, createdAt, countLine))) {
    checksum = crc32(piece, checksum);
    yield piece;
  }
  yield Buffer.from(`${JSON.stringify({ end: lines, crc32: checksum })}\n`);
}

/** A state of which not all counters need be in memory: they are read once. */
export interface WrittenState extends Omit<StoredState, 'counters'> {
  readonly counters: Iterable<KeptCounters> | AsyncIterable<KeptCounters>;
}

function sourcesOf({ sources }: Pick<StoredState, 'sources'>): StoredSources | null {
  return sources === null || sources.sources.length === 0 ? null : sources;
}

async function* textsOf(state: WrittenState, createdAt: number, countLine: () => void): AsyncGenerator<string, void> {
  const { configuration, counters, reports, notes } = state;
  const sources = sourcesOf(state);
  const format = Number(FORMATS[notes.size > 0 ? 'notes' : sources === null ? 'plain' : 'sources']);
  const line = (text: string) => {
    countLine();
    return `${text}\n`;
  };
  yield line(JSON.stringify({ keyway: 'state', format, created_at: createdAt }));
  if (configuration !== null) {
    yield CONFIGURATION.toString();
    for (let from = 0; from < configuration.length; from += SLICE_BYTES)
      yield configuration.toString('base64', from, from + SLICE_BYTES);
    yield line('"}');
  }
  for await (const one of counters) yield line(countersLine(one));
  if (reports !== null) yield line(JSON.stringify({ reports }));
  if (sources !== null) for (const text of sourceLines(sources)) yield line(text);
  for (const [accessKey, body] of notes) yield line(`{"access_key":${JSON.stringify(accessKey)},"note":${body}}`);
}

async function* piecesOfText(texts: AsyncIterable<string>): AsyncGenerator<Buffer, void> {
  let waiting = '';
  for await (const text of texts) {
    waiting += text;
    if (waiting.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(waiting);
    waiting = '';
  }
  yield Buffer.from(waiting);
}

/** Reads what `writeState` wrote. Rejects with `LinesError` for anything that is not exactly that. */
export async function readState(text: Pieces): Promise<StoredState> {
  const counters = new PackedCounters();
  const rest = await readParts(text, (one) => counters.push(one));
  return { ...rest, counters };
}

/** Reads a state without the configuration, which the caller has. Rejects with `LinesError`. */
export async function readBesides(text: Pieces): Promise<Omit<StoredState, 'configuration'>> {
  const counters = new PackedCounters();
  const { configuration: _, ...rest } = await readParts(text, (one) => counters.push(one), {
    skipsConfiguration: true,
  });
  return { ...rest, counters };
}

/** Reads a state without keeping its counters, and counts what is whole. Rejects with `LinesError`. */
export async function checkState(
  text: Pieces,
): Promise<Pick<StoredState, 'configuration'> & { readonly counters: number; readonly notes: number }> {
  let counters = 0;
  const { configuration, notes } = await readParts(text, () => {
    counters += 1;
  });
  return { configuration, counters, notes: notes.size };
}

async function readParts(
  text: Pieces,
  take: (counters: KeptCounters) => void,
  { skipsConfiguration = false } = {},
): Promise<Omit<StoredState, 'counters'>> {
  let configuration: Buffer | null = null;
  let reports: readonly string[] | null = null;
  const sources: Source[] = [];
  const bases: Base[] = [];
  const notes = new Map<string, string>();
  let lines = 0;
  let checksum = 0;
  /** The last line that was read, which may be the last of all, and the checksum of what comes before it. */
  let last: { readonly line: TextLine; readonly checksum: number } | null = null;

  function takePart(line: TextLine): void {
    if (skipsConfiguration && line.bytes.subarray(0, CONFIGURATION.length).equals(CONFIGURATION)) return;
    const part = objectOf(line);
    if (typeof part.configuration === 'string') configuration = Buffer.from(part.configuration, 'base64');
    else if (Array.isArray(part.reports)) reports = part.reports.map(String);
    else if (typeof part.note === 'string') notes.set(keyOf(part, line.number), JSON.stringify(part.note));
    else if (!takeSource(part, line.number)) take(countersOf(part, line.number));
  }

  function takeSource(part: JsonObject, number: number): boolean {
    try {
      const read = readSourceLine(part);
      if (read === null) return false;
      if ('source' in read) sources.push(read.source);
      else bases.push(read.base);
      return true;
    } catch (error) {
      throw new LinesError(`line ${number}: ${messageOf(error)}`);
    }
  }

  await eachLine(text, checkLength, (line) => {
    if (!isBlank(line)) {
      lines += 1;
      if (lines === 1) checkOpening(line);
      if (lines > 2 && last !== null) takePart(last.line);
      last = { line, checksum };
    }
    checksum = crc32(line.bytes, checksum);
  });
  checkEnding(last, lines - 1);
  return { configuration, reports, sources: sources.length === 0 ? null : { sources, bases }, notes };
}

function checkOpening(line: TextLine): void {
  const opening = objectOf(line);
  if (opening.keyway !== 'state') throw new LinesError('line 1: expected the first line of a Keyway backup');
  if (!Object.values(FORMATS).some((format) => format === opening.format)) {
    throw new LinesError(
      `line 1: expected a format up to ${FORMATS.notes}, found ${String(opening.format)}: use the Keyway that wrote it`,
    );
  }
}

function checkEnding(last: { readonly line: TextLine; readonly checksum: number } | null, before: number): void {
  if (last === null) throw new LinesError('the file is empty');
  const ending = objectOf(last.line);
  if (ending.end === BigInt(before) && ending.crc32 === BigInt(last.checksum)) return;
  throw new LinesError(
    `line ${last.line.number}: the file is damaged or not whole: its last line does not fit the others`,
  );
}

function checkLength(number: number, bytes: number): void {
  const most = number === 1 ? MOST_FIRST_LINE : MOST_LINE;
  if (bytes > most) throw new LinesError(`line ${number}: expected a line of at most ${most} bytes`);
}

function isBlank({ bytes }: TextLine): boolean {
  return !bytes.some((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d));
}

function objectOf({ bytes, number }: TextLine): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(bytes);
  } catch (error) {
    throw new LinesError(`line ${number}: ${messageOf(error)}`);
  }
  if (!isJsonObject(value)) throw new LinesError(`line ${number}: expected a JSON object`);
  return value;
}

function keyOf({ access_key: accessKey }: JsonObject, number: number): string {
  if (typeof accessKey === 'string' && accessKey !== '') return accessKey;
  throw new LinesError(`line ${number}: access_key: expected a string that is not empty`);
}

function countersOf(line: JsonObject, number: number): KeptCounters {
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
    accessKey: keyOf(line, number),
    bytesUp: count('bytes_up'),
    bytesDown: count('bytes_down'),
    connections: count('connections'),
    createdAt: time('created_at'),
    leftAt: line.left_at === undefined || line.left_at === null ? null : time('left_at'),
  };
}
