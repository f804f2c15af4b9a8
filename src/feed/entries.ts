import { DomainError } from '../core/errors.js';
import type { UsageEntry } from '../core/keys/types.js';
import {
  advance,
  another,
  enter,
  expectName,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
  toValue,
  u64Here,
} from '../wire/json/scanner.js';
import { createQuickEntries } from './quick-entry.js';

const U64 = 'an unsigned 64-bit integer';

/** Entries of counters in an array, read straight from their bytes, some at a time. */
export type EntryReader = ReturnType<typeof readEntries>;

/** The scanner must be at the array; `name` is what errors call it. Members that are not known are passed over. */
export function readEntries(scanner: JsonScanner, name: string) {
  if (scanner.kind !== Token.openArray) throw invalid(name, 'an array of entries');
  const quick = createQuickEntries();
  let more = enter(scanner);
  let index = 0;
  return {
    /** At most that many of the next ones; empty once the array has ended, and the scanner is behind it. */
    next(most: number): UsageEntry[] {
      const entries: UsageEntry[] = [];
      for (; more && entries.length < most; more = another(scanner, Token.closeArray)) {
        const entry = quick.read(scanner.bytes, scanner.start);
        if (entry === null) entries.push(readEntry(scanner, name, index));
        else {
          entries.push(entry);
          scanner.end = quick.end;
          advance(scanner);
        }
        index += 1;
      }
      return entries;
    },
  };
}

/** The failure that names a place of a body and what was expected there. */
export function invalid(place: string, expected: string): DomainError {
  return new DomainError('invalidBody', `${place}: expected ${expected}`);
}

/** Goes behind a member's name and its colon. */
export function memberName(scanner: JsonScanner): string {
  expectName(scanner);
  const name = stringValue(scanner);
  toValue(scanner);
  return name;
}

export function once(value: unknown, place: string): void {
  if (value !== undefined) throw invalid(place, 'one member of this name');
}

/** Goes behind a null; false where there is none. */
export function isNull(scanner: JsonScanner): boolean {
  if (scanner.kind !== Token.null) return false;
  advance(scanner);
  return true;
}

function readEntry(scanner: JsonScanner, list: string, index: number): UsageEntry {
  if (scanner.kind !== Token.openObject) throw invalid(`${list}[${index}]`, 'a JSON object');
  /** The place is only put together where it is told. */
  const place = (name: string) => `${list}[${index}].${name}`;
  let accessKey: string | undefined;
  let bytesUp: bigint | undefined;
  let bytesDown: bigint | undefined;
  let connections: bigint | null | undefined;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    const name = memberName(scanner);
    if (name === 'access_key') {
      if (accessKey !== undefined) once(accessKey, place(name));
      accessKey = readKey(scanner, () => place(name));
    } else if (name === 'bytes_up') {
      if (bytesUp !== undefined) once(bytesUp, place(name));
      bytesUp = readU64(scanner, () => place(name));
    } else if (name === 'bytes_down') {
      if (bytesDown !== undefined) once(bytesDown, place(name));
      bytesDown = readU64(scanner, () => place(name));
    } else if (name === 'connections') {
      if (connections !== undefined) once(connections, place(name));
      connections = isNull(scanner) ? null : readU64(scanner, () => place(name));
    } else skipValue(scanner);
  }
  if (accessKey === undefined) throw invalid(place('access_key'), 'a string that is not empty');
  if (bytesUp === undefined) throw invalid(place('bytes_up'), U64);
  if (bytesDown === undefined) throw invalid(place('bytes_down'), U64);
  return { accessKey, bytesUp, bytesDown, connections: connections ?? null };
}

function readKey(scanner: JsonScanner, place: () => string): string {
  const key = scanner.kind === Token.string ? stringValue(scanner) : '';
  if (key === '') throw invalid(place(), 'a string that is not empty');
  advance(scanner);
  return key;
}

/** Goes behind the number. */
export function readU64(scanner: JsonScanner, place: () => string): bigint {
  const value = u64Here(scanner);
  if (value === undefined) throw invalid(place(), U64);
  advance(scanner);
  return value;
}
