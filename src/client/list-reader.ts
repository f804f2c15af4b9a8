import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import type { KeySnapshot } from '../core/model.js';
import {
  another,
  createScanner,
  enter,
  expectEnd,
  expectName,
  type JsonScanner,
  JsonSyntaxError,
  skipValue,
  stringValue,
  syntaxError,
  Token,
  toValue,
  unexpectedToken,
} from '../wire/json/scanner.js';
import { NoAnswer } from './call.js';
import { createSnapshotReader, type KnownKey, type SnapshotLine } from './snapshots.js';

/** Reads an answer as it arrives, so that a large one is never in memory whole. */
export interface PieceReader<T> {
  /** Resolves to whether to read on. Never rejects: `end` reports errors. The caller may reuse the bytes afterwards. */
  take(piece: Buffer): Promise<boolean>;
  /** Resolves to the value of a whole success, else null. Rejects with `JsonSyntaxError` or `SchemaError`. */
  end(): Promise<T | null>;
  /** Returns the bytes that were not read: the whole body if it has no such data. */
  unread(): Buffer;
  /** Releases what was read, because the answer is abandoned. */
  giveUp(): void;
  /** The number of bytes taken. */
  readonly length: number;
}

export interface ListOptions {
  readonly known?: KnownKey | undefined;
  /** By default any number. */
  readonly mostKeys?: number;
  /** Strikes secrets out of a text. */
  readonly strike?: (text: string) => string;
}

/** Milliseconds of one turn of the event loop; other work runs between turns. */
const TURN = 4;
const BETWEEN_LOOKS = 64;
const FIRST_WINDOW = 128 * 1024;
/** Bytes of an incomplete part beyond which reading ends: no key is as long. */
const MOST_PENDING = 1024 * 1024;

/**
 * Creates a reader of the keys in a list's answer, in its order, if it is a success envelope. Only one piece of the
 * text and one element are in memory. A key with the values that `known` has becomes that very object.
 */
export function createListReader(
  line: SnapshotLine,
  { known = () => undefined, mostKeys = Number.POSITIVE_INFINITY, strike = asItIs }: ListOptions = {},
): PieceReader<readonly KeySnapshot[]> {
  let keys: KeySnapshot[] = [];
  const readKey = createSnapshotReader(line, known, strike);
  /** The unread bytes, and their number. */
  let window = Buffer.allocUnsafeSlow(FIRST_WINDOW);
  let filled = 0;
  let length = 0;
  let place: 'before the keys' | 'in the keys' | 'behind the keys' = 'before the keys';
  let isOk = false;
  let failure: unknown = null;
  /**
   * The number of bytes at which an incomplete part is read again, twice as many each time, so that each byte is read
   * only a few times.
   */
  let enough = 0;

  function append(piece: Buffer): void {
    if (filled + piece.length > window.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (filled + piece.length));
      window.copy(larger, 0, 0, filled);
      window = larger;
    }
    filled += piece.copy(window, filled);
  }

  function scan(depth: number): JsonScanner {
    const scanner = createScanner(window.subarray(0, filled), false);
    scanner.depth = depth;
    return scanner;
  }

  /**
   * Drops the bytes before this place. Throws `JsonSyntaxError` for bytes that are not Unicode, which more data would
   * not mend.
   */
  function leave({ loneSurrogate }: JsonScanner, at: number): void {
    const isLone = loneSurrogate >= 0 && loneSurrogate < at;
    if (isLone || !isUtf8(window.subarray(0, at))) {
      failure = syntaxError(window, 'characters that are no Unicode', Math.max(loneSurrogate, 0), 'unicode');
      throw failure;
    }
    window.copyWithin(0, at, filled);
    filled -= at;
  }

  /** Reads up to the first key; reads nothing if there is no list. */
  function readHead(): void {
    const scanner = scan(0);
    if (!standsOn(scanner, Token.openObject)) return;
    for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
      if (!enterList(scanner)) continue;
      const isEmpty = !enter(scanner);
      if (standsOn(scanner, Token.end)) throw unexpectedToken(scanner, 'a key');
      leave(scanner, scanner.start);
      place = isEmpty ? 'behind the keys' : 'in the keys';
      return;
    }
  }

  /** Skips a member unless it is the list, in which case the scanner stops at its value. */
  function enterList(scanner: JsonScanner): boolean {
    expectName(scanner);
    const name = stringValue(scanner);
    toValue(scanner);
    if (name === 'ok') isOk = standsOn(scanner, Token.true);
    const isList = name === 'data' && standsOn(scanner, Token.openArray);
    if (!isList) skipValue(scanner);
    return isList;
  }

  /**
   * Reads the keys that are complete. Rejects with `JsonSyntaxError` at one that is incomplete or wrong, after reading
   * those before it.
   */
  async function readKeys(): Promise<void> {
    const scanner = scan(2);
    let done = 0;
    let turnBegan = performance.now();
    try {
      for (let more = true; more; done = scanner.start) {
        const key = readKey(scanner, keys.length);
        more = another(scanner, Token.closeArray);
        keys.push(key);
        if (keys.length > mostKeys) throw tooLong(`a list of more than ${mostKeys} keys`);
        if (!more) place = 'behind the keys';
        if (keys.length % BETWEEN_LOOKS === 0 && performance.now() - turnBegan > TURN) {
          await setImmediate();
          turnBegan = performance.now();
        }
      }
    } finally {
      leave(scanner, done);
    }
  }

  function readTail(): void {
    const scanner = scan(1);
    while (another(scanner, Token.closeObject)) {
      if (enterList(scanner)) throw unexpectedToken(scanner, 'one list');
    }
    expectEnd(scanner);
    leave(scanner, filled);
  }

  async function readOn(): Promise<void> {
    if (place === 'before the keys') readHead();
    if (place === 'in the keys') await readKeys();
  }

  return {
    async take(piece) {
      length += piece.length;
      if (failure !== null) return false;
      append(piece);
      if (filled < enough) return true;
      try {
        await readOn();
      } catch (error) {
        // The text may only be incomplete.
        enough = 2 * filled;
        if (!(error instanceof JsonSyntaxError)) failure = error;
      }
      if (filled > MOST_PENDING) failure ??= tooLong(`one part of a list with more than ${MOST_PENDING} bytes`);
      return failure === null;
    },
    async end() {
      if (failure !== null) throw failure;
      await readOn();
      if (place === 'before the keys') return null;
      readTail();
      return isOk ? keys : null;
    },
    unread: () => window.subarray(0, filled),
    giveUp() {
      failure ??= tooLong('a list that was given up');
      keys = [];
    },
    get length() {
      return length;
    },
  };
}

const asItIs = (text: string): string => text;

function tooLong(message: string): NoAnswer {
  return new NoAnswer('too long', message, { mayHaveArrived: true, hasBegun: true });
}

/** Reads `kind` in a function, because the compiler does not know that the scanner moves. */
function standsOn(scanner: JsonScanner, kind: number): boolean {
  return scanner.kind === kind;
}
