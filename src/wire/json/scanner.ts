/**
 * A scanner of JSON tokens over UTF-8 bytes (RFC 8259), optionally with comments. It decodes nothing by itself, so that
 * a reader of a large file pays only for what it looks at. Plain functions over one record keep the hot loops fast.
 */

import { MAX_U64 } from '../../core/model.js';
import type { Steps } from '../../core/steps.js';

/** The most levels of arrays and objects. */
export const MAX_DEPTH = 512;

/**
 * The longest number that can be an unsigned 64-bit integer; the time for reading longer ones grows with the square of
 * their length.
 */
const MOST_DIGITS = 20;

/** The step in which reading failed: removing comments, parsing the rest, or reading its strings as Unicode. */
export type JsonStep = 'comments' | 'parse' | 'unicode';

/** The text is not JSON. `line` and `column` count from 1; a column is a Unicode character. */
export class JsonSyntaxError extends Error {
  readonly step: JsonStep;
  readonly line: number;
  readonly column: number;
  /** The message to follow the name of a file: `line 18, column 7: unexpected '}'`. */
  readonly placed: string;

  constructor(step: JsonStep, message: string, line: number, column: number) {
    super(`${message} at line ${line} column ${column}`);
    this.name = 'JsonSyntaxError';
    this.step = step;
    this.line = line;
    this.column = column;
    this.placed = `line ${line}, column ${column}: ${message}`;
  }
}

/** Kinds of token. Punctuation and literals are named by their first byte; every number is `number`. */
export const Token = {
  end: 0,
  string: 0x22,
  number: 0x30,
  comma: 0x2c,
  colon: 0x3a,
  openArray: 0x5b,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
  true: 0x74,
  false: 0x66,
  null: 0x6e,
} as const;

/** The scanner's state, with its current token. `start` and `end` are byte offsets, `end` exclusive. */
export interface JsonScanner {
  readonly bytes: Buffer;
  readonly comments: boolean;
  kind: number;
  start: number;
  end: number;
  /** The end of the token before this one. */
  lastEnd: number;
  /** True for a string without escapes. */
  plain: boolean;
  /** True for a string whose bytes are all below 128, which is cheap to decode. */
  ascii: boolean;
  /** True for an integer lexeme, which `-0` is not. */
  integer: boolean;
  depth: number;
  /** The place of the first escape of half a surrogate pair (RFC 8259, 8.2) so far; -1 for none. */
  loneSurrogate: number;
  /** The place of the last pause while reading in steps. */
  pausedAt: number;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const HASH = 0x23;
const STAR = 0x2a;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const SLASH = 0x2f;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const LOWER_A = 0x61;
const LOWER_E = 0x65;
const LOWER_U = 0x75;

/** The characters other than `u` that may follow a backslash: `"`, `\`, `/`, b, f, n, r, t. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

/**
 * Creates a scanner at the first token. A byte order mark is skipped if comments are allowed, and is otherwise an
 * error. The bytes must be valid UTF-8. It begins at `from`, the start of a token or before it.
 */
export function createScanner(bytes: Uint8Array, comments: boolean, from = 0): JsonScanner {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const marked = from === 0 && buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf;
  const first = comments && marked ? 3 : from;
  const scanner = {
    bytes: buffer,
    comments,
    kind: Token.end,
    start: first,
    end: first,
    lastEnd: first,
    plain: true,
    ascii: true,
    integer: true,
    depth: 0,
    loneSurrogate: -1,
    pausedAt: first,
  };
  if (marked && !comments) throw syntaxError(buffer, 'unexpected byte order mark', 0);
  advance(scanner);
  return scanner;
}

/** Returns the error for a place, with its line and column. */
export function syntaxError(bytes: Buffer, message: string, at: number, step: JsonStep = 'parse'): JsonSyntaxError {
  let line = 1;
  let lineStart = 0;
  for (let feed = bytes.indexOf(LF); feed !== -1 && feed < at; feed = bytes.indexOf(LF, feed + 1)) {
    line += 1;
    lineStart = feed + 1;
  }
  let column = 1;
  for (let i = lineStart; i < at; i += 1) if (((bytes[i] ?? 0) & 0xc0) !== 0x80) column += 1;
  return new JsonSyntaxError(step, message, line, column);
}

/** Returns the error for a token that is not allowed where it is. */
export function unexpectedToken(scanner: JsonScanner, expected: string): JsonSyntaxError {
  if (scanner.kind === Token.end) return syntaxError(scanner.bytes, 'unexpected end of input', scanner.start);
  const found = nameOf(scanner.bytes[scanner.start]);
  return syntaxError(scanner.bytes, `unexpected ${found}, expected ${expected}`, scanner.start);
}

function nameOf(byte: number | undefined): string {
  if (byte === undefined) return 'end of input';
  if (byte > BLANK && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return byte >= 0x80 ? 'character' : `control character ${byte}`;
}

/** Moves to the next token. */
export function advance(scanner: JsonScanner): void {
  scanner.lastEnd = scanner.end;
  const { bytes } = scanner;
  let at = scanner.end;
  let byte = bytes[at];
  while (byte === BLANK || byte === LF || byte === CR || byte === TAB) {
    at += 1;
    byte = bytes[at];
  }
  if ((byte === SLASH || byte === HASH) && scanner.comments) {
    at = skipTrivia(bytes, at);
    byte = bytes[at];
  }
  scanner.start = at;
  if (byte === Token.string) scanString(scanner, at);
  else if (byte === undefined) {
    scanner.kind = Token.end;
    scanner.end = at;
  } else if (isPunctuation(byte)) {
    scanner.kind = byte;
    scanner.end = at + 1;
  } else if (byte === MINUS || isDigit(byte)) scanNumber(scanner, at);
  else if (byte === Token.true) scanLiteral(scanner, at, 'true');
  else if (byte === Token.false) scanLiteral(scanner, at, 'false');
  else if (byte === Token.null) scanLiteral(scanner, at, 'null');
  else throw syntaxError(scanner.bytes, `unexpected ${nameOf(byte)}`, at);
}

function isPunctuation(byte: number): boolean {
  return (
    byte === Token.comma ||
    byte === Token.colon ||
    byte === Token.openArray ||
    byte === Token.closeArray ||
    byte === Token.openObject ||
    byte === Token.closeObject
  );
}

/** Returns the offset of the first byte from `at` on outside blanks and comments. Throws as `commentEnd` does. */
export function skipTrivia(bytes: Buffer, at: number): number {
  let next = at;
  for (;;) {
    const byte = bytes[next];
    if (byte === BLANK || byte === LF || byte === CR || byte === TAB) next += 1;
    else if (byte === SLASH || byte === HASH) next = commentEnd(bytes, next);
    else return next;
  }
}

/**
 * Returns the end (exclusive) of the comment that starts here: before the line break of a line comment, after the star
 * and slash of a block. Throws with the step `comments` for a lone slash and for an unclosed block.
 */
export function commentEnd(bytes: Buffer, at: number): number {
  if (bytes[at] === SLASH && bytes[at + 1] === STAR) {
    const close = bytes.indexOf('*/', at + 2, 'latin1');
    if (close === -1) throw syntaxError(bytes, 'unterminated comment', at, 'comments');
    return close + 2;
  }
  if (bytes[at] === SLASH && bytes[at + 1] !== SLASH) throw syntaxError(bytes, "unexpected '/'", at, 'comments');
  const feed = bytes.indexOf(LF, at);
  if (feed === -1) return bytes.length;
  return bytes[feed - 1] === CR ? feed - 1 : feed;
}

function scanString(scanner: JsonScanner, start: number): void {
  const { bytes } = scanner;
  let plain = true;
  let seen = 0;
  let at = start + 1;
  for (;;) {
    const byte = bytes[at];
    if (byte === Token.string) break;
    if (byte === undefined) throw syntaxError(scanner.bytes, 'unexpected end of input', at);
    if (byte === BACKSLASH) {
      plain = false;
      at = escapeEnd(scanner, at);
    } else if (byte < BLANK) {
      throw syntaxError(scanner.bytes, `unexpected ${nameOf(byte)} in a string`, at);
    } else {
      seen |= byte;
      at += 1;
    }
  }
  scanner.kind = Token.string;
  scanner.end = at + 1;
  scanner.plain = plain;
  scanner.ascii = seen < 0x80;
}

function escapeEnd(scanner: JsonScanner, at: number): number {
  const { bytes } = scanner;
  const letter = bytes[at + 1];
  if (letter === undefined) throw syntaxError(scanner.bytes, 'unexpected end of input', at + 1);
  if (SIMPLE_ESCAPES.has(letter)) return at + 2;
  if (letter !== LOWER_U) throw syntaxError(scanner.bytes, 'invalid escape in a string', at);
  const half = surrogateHalf(codeUnit(scanner, at));
  if (half === null) return at + 6;
  const isPair =
    half === 'high' &&
    bytes[at + 6] === BACKSLASH &&
    bytes[at + 7] === LOWER_U &&
    surrogateHalf(codeUnit(scanner, at + 6)) === 'low';
  if (isPair) return at + 12;
  if (scanner.loneSurrogate < 0) scanner.loneSurrogate = at;
  return at + 6;
}

/** Returns the code unit of an escape whose backslash is at `at`. */
function codeUnit(scanner: JsonScanner, at: number): number {
  const { bytes } = scanner;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i += 1) {
    const digit = bytes[i];
    if (digit === undefined) throw syntaxError(scanner.bytes, 'unexpected end of input', i);
    if (!isHexDigit(digit)) throw syntaxError(scanner.bytes, 'invalid escape in a string', at);
    unit = 16 * unit + (isDigit(digit) ? digit - ZERO : (digit | BLANK) - LOWER_A + 10);
  }
  return unit;
}

/** Tells which half of a pair a code unit is (The Unicode Standard, 3.8), or null for neither. */
function surrogateHalf(unit: number): 'high' | 'low' | null {
  if (unit < 0xd800 || unit > 0xdfff) return null;
  return unit < 0xdc00 ? 'high' : 'low';
}

function scanNumber(scanner: JsonScanner, start: number): void {
  const { bytes } = scanner;
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let at = bytes[first] === ZERO ? first + 1 : digitsEnd(scanner, first);
  let integer = !(negative && bytes[first] === ZERO);
  if (bytes[at] === POINT) {
    integer = false;
    at = digitsEnd(scanner, at + 1);
  }
  if (((bytes[at] ?? 0) | BLANK) === LOWER_E) {
    integer = false;
    const sign = bytes[at + 1];
    at = digitsEnd(scanner, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }
  if (isWordByte(bytes[at])) throw syntaxError(scanner.bytes, `unexpected ${nameOf(bytes[at])} in a number`, at);
  scanner.kind = Token.number;
  scanner.end = at;
  scanner.integer = integer;
}

/** Returns the end of a run of at least one digit. */
function digitsEnd(scanner: JsonScanner, from: number): number {
  const { bytes } = scanner;
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  if (at > from) return at;
  if (bytes[at] === undefined) throw syntaxError(scanner.bytes, 'unexpected end of input', at);
  throw syntaxError(scanner.bytes, `unexpected ${nameOf(bytes[at])} in a number`, at);
}

function scanLiteral(scanner: JsonScanner, start: number, word: 'true' | 'false' | 'null'): void {
  const { bytes } = scanner;
  for (let i = 1; i < word.length; i += 1) {
    const byte = bytes[start + i];
    if (byte === undefined) throw syntaxError(scanner.bytes, 'unexpected end of input', start + i);
    if (byte !== word.charCodeAt(i)) throw syntaxError(scanner.bytes, `unexpected ${nameOf(byte)}`, start + i);
  }
  scanner.kind = bytes[start] ?? Token.end;
  scanner.end = start + word.length;
  if (isWordByte(bytes[scanner.end])) {
    throw syntaxError(scanner.bytes, `unexpected ${nameOf(bytes[scanner.end])}`, scanner.end);
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  const lower = byte | BLANK;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

function isWordByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | BLANK;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x7a) || byte === POINT;
}

/**
 * Enters the current array or object. Returns true, and moves to its first item, if it has one; otherwise moves past
 * it. Throws beyond `MAX_DEPTH` levels.
 */
export function enter(scanner: JsonScanner): boolean {
  const close = scanner.kind === Token.openArray ? Token.closeArray : Token.closeObject;
  if (scanner.depth === MAX_DEPTH) {
    throw syntaxError(scanner.bytes, `nested deeper than ${MAX_DEPTH} levels`, scanner.start);
  }
  scanner.depth += 1;
  advance(scanner);
  if (scanner.kind !== close) return true;
  scanner.depth -= 1;
  advance(scanner);
  return false;
}

/** Moves on after an item: returns true at the next one, false after the closing bracket. */
export function another(scanner: JsonScanner, close: typeof Token.closeArray | typeof Token.closeObject): boolean {
  if (scanner.kind === Token.comma) {
    advance(scanner);
    return true;
  }
  if (scanner.kind !== close) throw unexpectedToken(scanner, close === Token.closeArray ? "',' or ']'" : "',' or '}'");
  scanner.depth -= 1;
  advance(scanner);
  return false;
}

/** Checks that the current token is a member's name. */
export function expectName(scanner: JsonScanner): void {
  if (scanner.kind !== Token.string) throw unexpectedToken(scanner, 'a member name');
}

/** Moves from a member's name to its value. */
export function toValue(scanner: JsonScanner): void {
  advance(scanner);
  if (scanner.kind !== Token.colon) throw unexpectedToken(scanner, "':'");
  advance(scanner);
}

/** Skips the current value, checking it; its end is then `lastEnd`. */
export function skipValue(scanner: JsonScanner): void {
  switch (scanner.kind) {
    case Token.openArray:
      for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) skipValue(scanner);
      return;
    case Token.openObject:
      for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
        expectName(scanner);
        toValue(scanner);
        skipValue(scanner);
      }
      return;
    case Token.string:
    case Token.number:
    case Token.true:
    case Token.false:
    case Token.null:
      advance(scanner);
      return;
    default:
      throw unexpectedToken(scanner, 'a value');
  }
}

/** Does what `skipValue` does, in steps. */
export function* skipValueSteps(scanner: JsonScanner): Steps<void> {
  if (!isContainer(scanner)) return skipValue(scanner);
  const isObject = scanner.kind === Token.openObject;
  const close = isObject ? Token.closeObject : Token.closeArray;
  for (let more = enter(scanner); more; more = another(scanner, close)) {
    if (isPauseDue(scanner)) yield;
    if (isObject) {
      expectName(scanner);
      toValue(scanner);
    }
    if (isContainer(scanner)) yield* skipValueSteps(scanner);
    else skipValue(scanner);
  }
}

/** Tells whether the scanner is at an array or an object. */
export function isContainer({ kind }: JsonScanner): boolean {
  return kind === Token.openArray || kind === Token.openObject;
}

/** Bytes of a text that are read in one step. */
const STEP_BYTES = 1 << 15;

/** Tells whether reading in steps should pause here, and if so begins the next step. */
export function isPauseDue(scanner: JsonScanner): boolean {
  if (scanner.start - scanner.pausedAt < STEP_BYTES) return false;
  scanner.pausedAt = scanner.start;
  return true;
}

/** Checks that only blanks and comments are left. */
export function expectEnd(scanner: JsonScanner): void {
  if (scanner.kind !== Token.end) throw unexpectedToken(scanner, 'the end of input');
}

/** Checks that no string so far had half of a surrogate pair, because other readers would refuse the text. */
export function expectUnicode({ bytes, loneSurrogate: at }: JsonScanner): void {
  if (at < 0) return;
  const found = bytes.toString('latin1', at, at + 6);
  throw syntaxError(bytes, `lone surrogate ${found} (half of a character)`, at, 'unicode');
}

/** Tells whether the current token is an integer short enough to be an unsigned 64-bit one. */
export function isShortInteger({ kind, integer, start, end }: JsonScanner): boolean {
  return kind === Token.number && integer && end - start <= MOST_DIGITS;
}

/** Digits that a JavaScript number always holds exactly. */
const SAFE_DIGITS = 15;

/** Returns the current unsigned 64-bit integer; undefined if the token is anything else. */
export function u64Here(scanner: JsonScanner): bigint | undefined {
  const { bytes, start, end } = scanner;
  if (!isShortInteger(scanner) || bytes[start] === MINUS) return undefined;
  if (end - start > SAFE_DIGITS) {
    const value = BigInt(bytes.toString('latin1', start, end));
    return value <= MAX_U64 ? value : undefined;
  }
  let value = 0;
  for (let at = start; at < end; at += 1) value = 10 * value + (bytes[at] ?? ZERO) - ZERO;
  return BigInt(value);
}

/** Returns the current string. A lone surrogate escape stays a lone surrogate. */
export function stringValue(scanner: JsonScanner): string {
  const { bytes, start, end } = scanner;
  if (scanner.plain) return bytes.toString(scanner.ascii ? 'latin1' : 'utf8', start + 1, end - 1);
  const text: unknown = JSON.parse(bytes.toString('utf8', start, end));
  return String(text);
}
