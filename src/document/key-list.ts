import { randomFillSync } from 'node:crypto';
import type { KeyFieldKind } from '../core/keys/key-fields.js';
import { type KeyFieldValue, keyFields, recordWith } from '../core/keys/key-record.js';
import { type AccessKey, MAX_U64 } from '../core/model.js';
import { finish, type Steps } from '../core/steps.js';
import {
  advance,
  another,
  enter,
  expectName,
  isShortInteger,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../wire/json/scanner.js';

/** The places of a key list's elements, in arrays of numbers: a million keys take twelve megabytes. */
export interface KeyList {
  /** The offsets of the brackets. */
  readonly open: number;
  readonly close: number;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** `hashKey` of every element's key; 0 for an element without one. */
  readonly hashes: Uint32Array;
}

/** A key list as it was read. */
export interface KeysNode {
  readonly kind: 'keys';
  readonly start: number;
  readonly end: number;
  readonly list: KeyList;
  /** One record for each element with a key, in the file's order, including repeated keys. */
  readonly records: AccessKey[];
  readonly faults: readonly KeyFault[];
}

/** An element, or a member of it, that was ignored. */
export interface KeyFault {
  readonly index: number;
  /** Empty for the element itself. */
  readonly member: string;
  readonly text: string;
}

/** The fault of a key that a server accepts and Keyway does not. */
export const EMPTY_KEY = 'an empty key';

/** The fault of an element with a repeated member: the last one counts, but most servers fail to start. */
export const TWICE = 'it stands there twice';

/** The hash of an element without a key. */
export const NO_KEY = 0;
const SAFE_DIGITS = 15;
const MINUS = 0x2d;
const ZERO = 0x30;

/** The expected kinds of values, for the fault of another kind, which counts as absent. */
const EXPECTED: Readonly<Record<KeyFieldKind, string>> = { text: 'a string', u64: `an integer from 0 to ${MAX_U64}` };

const MEMBERS = keyFields.map(({ kind, member, noted }) => {
  const fault = `expected ${EXPECTED[kind]}; the key has no ${noted}`;
  return { isText: kind === 'text', member, bytes: Buffer.from(member), fault };
});

/** The element being read; one object, reused for every element. */
interface Element {
  key: string | null;
  hash: number;
  /** The values by column. */
  readonly values: KeyFieldValue[];
}

/** Reads the array of keys that the scanner is at. Elements that are not keys become faults, never errors. */
export function readKeys(scanner: JsonScanner, keyMember: string): KeysNode {
  return finish(readKeysSteps(scanner, keyMember));
}

/** Keys that are read in one step. */
const STEP_KEYS = 4_000;

/** Does what `readKeys` does, in steps. */
export function* readKeysSteps(scanner: JsonScanner, keyMember: string): Steps<KeysNode> {
  const open = scanner.start;
  const starts = growableUint32();
  const ends = growableUint32();
  const hashes = growableUint32();
  const records: AccessKey[] = [];
  const faults: KeyFault[] = [];
  const keyName = Buffer.from(keyMember);
  const element: Element = { key: null, hash: NO_KEY, values: MEMBERS.map(() => null) };
  let index = 0;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
    starts.push(scanner.start);
    readElement(scanner, element, keyName, index, faults);
    ends.push(scanner.lastEnd);
    hashes.push(element.hash);
    if (element.key !== null) records.push(recordWith(element.key, element.values));
    index += 1;
    if (index % STEP_KEYS === 0) yield;
  }
  const end = scanner.lastEnd;
  const list = { open, close: end - 1, starts: starts.finish(), ends: ends.finish(), hashes: hashes.finish() };
  return { kind: 'keys', start: open, end, list, records, faults };
}

function readElement(scanner: JsonScanner, element: Element, keyName: Buffer, index: number, faults: KeyFault[]): void {
  element.key = null;
  element.hash = NO_KEY;
  for (let place = 0; place < MEMBERS.length; place += 1) element.values[place] = null;
  if (scanner.kind === Token.string) {
    takeKey(scanner, element);
    advance(scanner);
    if (element.key === null) faults.push({ index, member: '', text: EMPTY_KEY });
  } else if (scanner.kind === Token.openObject) {
    readMembers(scanner, element, keyName, index, faults);
  } else {
    skipValue(scanner);
    faults.push({ index, member: '', text: 'expected a string or an object' });
  }
}

function readMembers(scanner: JsonScanner, element: Element, keyName: Buffer, index: number, faults: KeyFault[]): void {
  let keyFault = 'absent';
  /** A bit for each member, with the key's after those of the columns. */
  let seen = 0;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    if (nameIs(scanner, keyName)) {
      if ((seen & KEY_BIT) !== 0) faults.push({ index, member: keyName.toString(), text: TWICE });
      seen |= KEY_BIT;
      toValue(scanner);
      element.key = null;
      element.hash = NO_KEY;
      if (scanner.kind === Token.string) takeKey(scanner, element);
      keyFault = scanner.kind === Token.string ? EMPTY_KEY : 'expected a string';
    } else {
      const bit = readMember(scanner, element.values, index, faults);
      if ((seen & bit) !== 0) faults.push({ index, member: columnOf(bit), text: TWICE });
      seen |= bit;
    }
    skipValue(scanner);
  }
  if (element.key === null) faults.push({ index, member: keyName.toString(), text: keyFault });
}

const KEY_BIT = 2 ** MEMBERS.length;

function columnOf(bit: number): string {
  return MEMBERS[Math.log2(bit)]?.member ?? '';
}

/** Moves to the current member's value, and reads it if it is a column's. Returns the column's bit, or 0. */
function readMember(scanner: JsonScanner, values: KeyFieldValue[], index: number, faults: KeyFault[]): number {
  for (let place = 0; place < MEMBERS.length; place += 1) {
    const column = MEMBERS[place];
    if (column === undefined || !nameIs(scanner, column.bytes)) continue;
    toValue(scanner);
    const value = column.isText ? textValue(scanner) : integerValue(scanner);
    values[place] = value;
    if (value === null && scanner.kind !== Token.null)
      faults.push({ index, member: column.member, text: column.fault });
    return 2 ** place;
  }
  toValue(scanner);
  return 0;
}

/** Reads the current string as the element's key, unless it is empty. */
function takeKey(scanner: JsonScanner, element: Element): void {
  const { bytes, start, end, plain } = scanner;
  if (end - start === 2) return;
  element.key = stringValue(scanner);
  if (!plain) {
    element.hash = hashKey(element.key);
    return;
  }
  element.hash = hashOf(bytes, start + 1, end - 1);
}

function textValue(scanner: JsonScanner): string | null {
  return scanner.kind === Token.string ? stringValue(scanner) : null;
}

function integerValue(scanner: JsonScanner): bigint | null {
  const { bytes, start, end } = scanner;
  if (!isShortInteger(scanner) || bytes[start] === MINUS) return null;
  if (end - start > SAFE_DIGITS) {
    const value = BigInt(bytes.toString('latin1', start, end));
    return value <= MAX_U64 ? value : null;
  }
  // A double holds this number of digits exactly, and becomes a bigint much faster than a text does.
  let value = 0;
  for (let i = start; i < end; i += 1) value = 10 * value + ((bytes[i] ?? 0) - ZERO);
  return BigInt(value);
}

function nameIs(scanner: JsonScanner, name: Buffer): boolean {
  const { bytes, start, end } = scanner;
  if (!scanner.plain) return stringValue(scanner) === name.toString();
  if (end - start - 2 !== name.length) return false;
  for (let i = 0; i < name.length; i += 1) if (bytes[start + 1 + i] !== name[i]) return false;
  return true;
}

/**
 * A random number for each byte value, different in each process. Elements with equal hashes are checked one after the
 * other, so nobody may be able to choose keys whose hashes are equal; a random starting value alone would not prevent
 * that, because only its last byte would matter.
 */
const OF_BYTES = randomFillSync(new Uint32Array(256));
const PRIME = 0x01000193;

/** Returns a 32-bit hash of a key's UTF-8 bytes, never 0. Equal hashes mean nothing until the keys are compared. */
export function hashKey(key: string): number {
  const bytes = Buffer.from(key);
  return hashOf(bytes, 0, bytes.length);
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0;
  for (let i = from; i < to; i += 1) {
    hash = Math.imul(hash ^ (OF_BYTES[bytes[i] ?? 0] ?? 0), PRIME);
    hash ^= hash >>> 15;
  }
  return hash >>> 0 || 1;
}

/** An array of unsigned 32-bit numbers that grows while it is filled. */
function growableUint32() {
  let values = new Uint32Array(16);
  let length = 0;
  return {
    push(value: number): void {
      if (length === values.length) {
        const larger = new Uint32Array(2 * length);
        larger.set(values);
        values = larger;
      }
      values[length] = value;
      length += 1;
    },
    /** Returns exactly what was pushed. */
    finish: () => values.slice(0, length),
  };
}
