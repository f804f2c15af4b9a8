import { isUtf8 } from 'node:buffer';
import { finish, Pace, type Steps } from '../../core/steps.js';
import {
  advance,
  createScanner,
  expectEnd,
  expectUnicode,
  type JsonScanner,
  JsonSyntaxError,
  Token,
} from '../../wire/json/scanner.js';
import { ConfigurationShapeError } from '../layout.js';
import { type ObjectNode, readValueSteps, type Shape } from '../tree.js';

/** The most levels of arrays and objects that servers read. */
const MOST_LEVELS = 127;

/** Everything, because a server's reader checks members that it skips, too. */
const WHOLE: Shape = {
  others: 'tree',
  members: {
    access_keys: { keys: 'access_key' },
    inbounds: { elements: { others: 'tree', members: { users: { keys: 'key' } } } },
  },
};

/** The root of a file as servers read it, or what is wrong with its text for all of them. */
export type ServerText =
  | { readonly root: ObjectNode; readonly bytes: Buffer; readonly problem: null }
  | { readonly root: null; readonly bytes: Buffer; readonly problem: string };

/**
 * Reads a file as servers of every line do: comments removed, then strict JSON of at most 127 levels, numbers in the
 * range of a double.
 */
export function readServerText(given: Buffer): ServerText {
  return finish(readServerTextSteps(given));
}

/** Does what `readServerText` does, in steps. */
export function* readServerTextSteps(given: Buffer): Steps<ServerText> {
  if (!isUtf8(given)) return { root: null, bytes: given, problem: 'the file is not valid UTF-8' };
  const bytes = withoutComments(given);
  if (bytes === null) return { root: null, bytes: given, problem: 'a comment is not closed, or a / stands alone' };
  try {
    yield* checkTokens(createScanner(bytes, false));
    const scanner = createScanner(bytes, false);
    const root = yield* readValueSteps(scanner, WHOLE);
    expectEnd(scanner);
    expectUnicode(scanner);
    if (root.kind === 'object') return { root, bytes, problem: null };
    return { root: null, bytes, problem: 'the root: expected an object' };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError || error instanceof ConfigurationShapeError)) throw error;
    return { root: null, bytes, problem: error.message };
  }
}

function* checkTokens(scanner: JsonScanner): Steps<void> {
  const pace = new Pace();
  let level = 0;
  for (; scanner.kind !== Token.end; advance(scanner)) {
    if (pace.isDue()) yield;
    const { kind, start } = scanner;
    if (kind === Token.openArray || kind === Token.openObject) level += 1;
    else if (kind === Token.closeArray || kind === Token.closeObject) level -= 1;
    else if (kind === Token.number && !isInRange(scanner)) throw new ConfigurationShapeError(tooLarge(scanner));
    if (level > MOST_LEVELS) throw new ConfigurationShapeError(tooDeep(scanner, start));
  }
}

/** The length below which numbers without an exponent are in range. */
const ALWAYS_IN_RANGE = 300;

function isInRange({ bytes, start, end, integer }: JsonScanner): boolean {
  if (integer && end - start < ALWAYS_IN_RANGE) return true;
  return Number.isFinite(Number(bytes.toString('latin1', start, end)));
}

const tooLarge = ({ bytes, start, end }: JsonScanner) =>
  `${bytes.toString('latin1', start, Math.min(end, start + SHOWN))}: expected a number in the range of a double`;
const SHOWN = 20;

const tooDeep = ({ bytes }: JsonScanner, at: number) =>
  `nested deeper than ${MOST_LEVELS} levels at line ${bytes.subarray(0, at).toString('latin1').split('\n').length}`;

const BLANK = 0x20;
const FEED = 0x0a;
const QUOTE = 0x22;
const HASH = 0x23;
const STAR = 0x2a;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;

/**
 * Replaces comments by blanks, as servers do; null where their reader gives up. To it a block ends at a star and a
 * slash, but not with an even number of stars before the slash.
 */
function withoutComments(bytes: Buffer): Buffer | null {
  if (!bytes.includes(SLASH) && !bytes.includes(HASH)) return bytes;
  const stripped = Buffer.from(bytes);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at);
    if (byte !== SLASH && byte !== HASH) continue;
    const end = commentEnd(bytes, at);
    if (end === null) return null;
    blankOut(stripped, at, end);
    at = end - 1;
  }
  return stripped;
}

/** Replaces bytes by blanks; line feeds stay, because problems are told with the line of the file. */
function blankOut(bytes: Buffer, start: number, end: number): void {
  for (let at = start; at < end; at += 1) if (bytes[at] !== FEED) bytes[at] = BLANK;
}

/** Returns the offset of the quote that ends a string, or the end of the bytes. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function commentEnd(bytes: Buffer, start: number): number | null {
  const isBlock = bytes[start] === SLASH && bytes[start + 1] === STAR;
  if (!isBlock) {
    if (bytes[start] === SLASH && bytes[start + 1] !== SLASH) return null;
    const feed = bytes.indexOf(FEED, start);
    return feed === -1 ? bytes.length : feed;
  }
  for (let at = start + 2; at < bytes.length; at += 1) {
    if (bytes[at] !== STAR) continue;
    if (bytes[at + 1] === SLASH) return at + 2;
    // The character after a star is always skipped with it.
    at += 1;
  }
  return null;
}
