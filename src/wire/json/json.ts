import { isUtf8 } from 'node:buffer';
import { finish, type Steps } from '../../core/steps.js';
import {
  advance,
  another,
  createScanner,
  enter,
  expectEnd,
  expectName,
  expectUnicode,
  isPauseDue,
  isShortInteger,
  type JsonScanner,
  JsonSyntaxError,
  skipValue,
  stringValue,
  syntaxError,
  Token,
  toValue,
  unexpectedToken,
} from './scanner.js';
import { type ByteWriter, createByteWriter } from './writer.js';

export { JsonSyntaxError };

/**
 * A JSON value with exact integers: an integer lexeme is a bigint of any size, every other number (`1.0`, `1e3`, `-0`)
 * a double. Objects have no prototype, so `__proto__` is an ordinary member.
 */
export type JsonValue = null | boolean | string | bigint | number | JsonValue[] | JsonObject;

/** Members in JavaScript's order: names that look like array indexes first, the others in the order of the text. */
export interface JsonObject {
  [name: string]: JsonValue;
}

export interface JsonOptions {
  /** Tolerates `//`, `#` and block comments, and a byte order mark; default false. */
  readonly comments?: boolean;
  /** The effect of a second member of the same name: fail (the default), or replace the first. */
  readonly duplicates?: 'reject' | 'last';
  /**
   * True if a stranger may have written it; default false. Half of a surrogate pair is then an error, and an integer
   * too long for 64 bits becomes a double, which is read in hardly any time.
   */
  readonly foreign?: boolean;
}

/** Parses one JSON value (RFC 8259) from UTF-8. Throws `JsonSyntaxError`. */
export function parseJson(bytes: Uint8Array, options: JsonOptions = {}): JsonValue {
  const scanner = scan(bytes, options.comments ?? false);
  const value = readValue(scanner, options);
  expectEnd(scanner);
  if (options.foreign === true) expectUnicode(scanner);
  return value;
}

/** Reads as servers do: of repeated members the last one counts. */
export const LAST_WINS: JsonOptions = { duplicates: 'last' };

/** Returns the JSON value in the bytes of a server or client; undefined if there is none. */
export function jsonIn(bytes: Buffer, options: JsonOptions = {}): JsonValue | undefined {
  try {
    return parseJson(bytes, options);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** Returns the `data` of the envelope in the bytes; undefined if there is none. */
export function dataIn(bytes: Buffer, options: JsonOptions = {}): JsonValue | undefined {
  const envelope = jsonIn(bytes, options);
  return isJsonObject(envelope) ? envelope.data : undefined;
}

/** Tells whether a value is an object, as opposed to an array, null or a scalar. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function scan(bytes: Uint8Array, comments: boolean): JsonScanner {
  if (!isUtf8(bytes)) throw invalidUtf8(bytes);
  return createScanner(bytes, comments);
}

/** Finds the place by decoding and encoding again, which first changes the text where it is not UTF-8. */
function invalidUtf8(bytes: Uint8Array): Error {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const again = Buffer.from(buffer.toString('utf8'));
  let at = 0;
  while (at < buffer.length && buffer[at] === again[at]) at += 1;
  return syntaxError(buffer, 'invalid UTF-8', at);
}

function readValue(scanner: JsonScanner, options: JsonOptions): JsonValue {
  switch (scanner.kind) {
    case Token.openObject:
      return readObject(scanner, options);
    case Token.openArray: {
      const elements: JsonValue[] = [];
      for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
        elements.push(readValue(scanner, options));
      }
      return elements;
    }
    default: {
      const value = scalarValue(scanner, options);
      advance(scanner);
      return value;
    }
  }
}

function readObject(scanner: JsonScanner, options: JsonOptions): JsonObject {
  const members: JsonObject = Object.create(null);
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const name = stringValue(scanner);
    if (options.duplicates !== 'last' && name in members) throw duplicateMember(scanner, name);
    toValue(scanner);
    members[name] = readValue(scanner, options);
  }
  return members;
}

function duplicateMember(scanner: JsonScanner, name: string): Error {
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name;
  return syntaxError(scanner.bytes, `duplicate member ${JSON.stringify(shown)}`, scanner.start);
}

function scalarValue(scanner: JsonScanner, { foreign }: JsonOptions): JsonValue {
  switch (scanner.kind) {
    case Token.string:
      return stringValue(scanner);
    case Token.number: {
      const lexeme = scanner.bytes.toString('latin1', scanner.start, scanner.end);
      const isExact = foreign === true ? isShortInteger(scanner) : scanner.integer;
      return isExact ? BigInt(lexeme) : Number(lexeme);
    }
    case Token.true:
      return true;
    case Token.false:
      return false;
    case Token.null:
      return null;
    default:
      throw unexpectedToken(scanner, 'a value');
  }
}

/**
 * Writes the same value without blanks and comments outside strings, in pieces; numbers, strings and the order of
 * members stay. A repeated member is kept. Throws `JsonSyntaxError`.
 */
export function* compactJsonSteps(bytes: Uint8Array): Steps<readonly Buffer[]> {
  const writer = createByteWriter(Number.POSITIVE_INFINITY);
  const scanner = scan(bytes, true);
  /** The opening brackets of the arrays and objects that are still open. */
  const open: (typeof Token.openArray | typeof Token.openObject)[] = [];
  for (let more = true; more; ) {
    const { kind } = scanner;
    if (kind !== Token.openArray && kind !== Token.openObject) writeScalar(scanner, writer);
    else {
      writer.byte(kind);
      if (enter(scanner)) {
        if (kind === Token.openObject) writeName(scanner, writer);
        open.push(kind);
        continue;
      }
      writer.byte(closing(kind));
    }
    more = nextCompact(scanner, writer, open);
    if (isPauseDue(scanner)) yield;
  }
  expectEnd(scanner);
  return writer.pieces();
}

const closing = (kind: typeof Token.openArray | typeof Token.openObject) =>
  kind === Token.openArray ? Token.closeArray : Token.closeObject;

/** Moves past a value to the next one; returns false if there is none. */
function nextCompact(
  scanner: JsonScanner,
  writer: ByteWriter,
  open: (typeof Token.openArray | typeof Token.openObject)[],
): boolean {
  for (let kind = open.at(-1); kind !== undefined; kind = open.at(-1)) {
    if (another(scanner, closing(kind))) {
      writer.byte(Token.comma);
      if (kind === Token.openObject) writeName(scanner, writer);
      return true;
    }
    writer.byte(closing(kind));
    open.pop();
  }
  return false;
}

/** The limits of `prettyJson`. */
export interface PrettyOptions {
  /** The most bytes, since indentation can make a text a thousand times as long; by default any number. */
  readonly limit?: number;
  /** True for a text that a stranger may have written; default false. Half of a surrogate pair is then an error. */
  readonly foreign?: boolean;
}

/**
 * Writes the same value with two blanks per level, `[]` and `{}` for empty ones and no line break at the end; numbers,
 * strings and the order of members stay. It builds no tree. Throws `JsonSyntaxError`, also for a repeated member, and
 * `RangeError` as soon as the text exceeds its limit.
 */
export function prettyJson(bytes: Uint8Array): Buffer {
  return finish(prettyJsonSteps(bytes));
}

/** Does what `prettyJson` does, in steps. */
export function* prettyJsonSteps(bytes: Uint8Array, options: PrettyOptions = {}): Steps<Buffer> {
  const writer = createByteWriter(options.limit ?? Number.POSITIVE_INFINITY);
  const scanner = scan(bytes, false);
  yield* writePretty(scanner, writer, []);
  expectEnd(scanner);
  if (options.foreign === true) expectUnicode(scanner);
  return yield* writer.finish();
}

/** Writes the pretty text. `seen` has a set of member names for each level, reused for every object of that level. */
function* writePretty(scanner: JsonScanner, writer: ByteWriter, seen: Set<string>[]): Steps<void> {
  const { kind, depth } = scanner;
  if (isPauseDue(scanner)) yield;
  if (kind !== Token.openArray && kind !== Token.openObject) {
    writeScalar(scanner, writer);
    return;
  }
  const close = kind === Token.openArray ? Token.closeArray : Token.closeObject;
  const names = seen[depth] ?? new Set<string>();
  seen[depth] = names;
  names.clear();
  writer.byte(kind);
  let first = true;
  for (let more = enter(scanner); more; more = another(scanner, close)) {
    if (!first) writer.byte(Token.comma);
    first = false;
    writer.line(2 * (depth + 1));
    if (kind === Token.openObject) {
      rejectRepeated(scanner, names);
      writeName(scanner, writer);
      writer.byte(BLANK);
    }
    yield* writePretty(scanner, writer, seen);
  }
  if (!first) writer.line(2 * depth);
  writer.byte(close);
}

const BLANK = 0x20;

function rejectRepeated(scanner: JsonScanner, names: Set<string>): void {
  expectName(scanner);
  const name = stringValue(scanner);
  if (names.has(name)) throw duplicateMember(scanner, name);
  names.add(name);
}

function writeName(scanner: JsonScanner, writer: ByteWriter): void {
  expectName(scanner);
  writer.copy(scanner.bytes, scanner.start, scanner.end);
  writer.byte(Token.colon);
  toValue(scanner);
}

function writeScalar(scanner: JsonScanner, writer: ByteWriter): void {
  const { start, end } = scanner;
  skipValue(scanner);
  writer.copy(scanner.bytes, start, end);
}
