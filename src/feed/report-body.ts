import { isUtf8 } from 'node:buffer';
import type { UsageReport } from '../core/backend.js';
import { DomainError } from '../core/errors.js';
import type { UsageEntry } from '../core/keys/types.js';
import { MAX_U64 } from '../core/model.js';
import {
  advance,
  another,
  createScanner,
  enter,
  expectEnd,
  expectName,
  expectUnicode,
  isShortInteger,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../wire/json/scanner.js';
import { readingBody } from '../wire/json-body.js';
import { createQuickEntries } from './quick-entry.js';

/** Characters of a report's id. */
export const MOST_ID_LENGTH = 200;

const U64 = 'an unsigned 64-bit integer';
const MINUS = 0x2d;

/**
 * Reads a report straight from its bytes: building a tree of a thousand entries first takes longer than counting them.
 * Throws `invalidBody`, whose detail names the place and what was expected there. Members that are not known are passed over.
 */
export function readReport(bytes: Buffer): UsageReport {
  if (!isUtf8(bytes)) throw invalid('body', 'UTF-8');
  return readingBody(() => {
    const scanner = createScanner(bytes, false);
    const report = readMembers(scanner);
    expectEnd(scanner);
    expectUnicode(scanner);
    return report;
  });
}

function invalid(place: string, expected: string): DomainError {
  return new DomainError('invalidBody', `${place}: expected ${expected}`);
}

function readMembers(scanner: JsonScanner): UsageReport {
  if (scanner.kind !== Token.openObject) throw invalid('body', 'a JSON object');
  let id: string | null | undefined;
  let entries: readonly UsageEntry[] | undefined;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    const name = memberName(scanner);
    if (name === 'report_id') {
      once(id, name);
      id = readId(scanner);
    } else if (name === 'entries') {
      once(entries, name);
      entries = readEntries(scanner);
    } else skipValue(scanner);
  }
  if (entries === undefined) throw invalid('entries', 'an array of entries');
  return { id: id ?? null, entries };
}

function memberName(scanner: JsonScanner): string {
  expectName(scanner);
  const name = stringValue(scanner);
  toValue(scanner);
  return name;
}

function once(value: unknown, place: string): void {
  if (value !== undefined) throw invalid(place, 'one member of this name');
}

function readId(scanner: JsonScanner): string | null {
  if (isNull(scanner)) return null;
  const id = scanner.kind === Token.string ? stringValue(scanner) : '';
  if (id === '' || id.length > MOST_ID_LENGTH) {
    throw invalid('report_id', `a string of 1 to ${MOST_ID_LENGTH} characters, or null`);
  }
  advance(scanner);
  return id;
}

function isNull(scanner: JsonScanner): boolean {
  if (scanner.kind !== Token.null) return false;
  advance(scanner);
  return true;
}

function readEntries(scanner: JsonScanner): readonly UsageEntry[] {
  if (scanner.kind !== Token.openArray) throw invalid('entries', 'an array of entries');
  const entries: UsageEntry[] = [];
  const quick = createQuickEntries();
  for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
    const entry = quick.read(scanner.bytes, scanner.start);
    if (entry === null) entries.push(readEntry(scanner, entries.length));
    else {
      entries.push(entry);
      scanner.end = quick.end;
      advance(scanner);
    }
  }
  return entries;
}

function readEntry(scanner: JsonScanner, index: number): UsageEntry {
  if (scanner.kind !== Token.openObject) throw invalid(`entries[${index}]`, 'a JSON object');
  let accessKey: string | undefined;
  let bytesUp: bigint | undefined;
  let bytesDown: bigint | undefined;
  let connections: bigint | null | undefined;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    const name = memberName(scanner);
    if (name === 'access_key') {
      onceIn(index, accessKey, name);
      accessKey = readKey(scanner, index);
    } else if (name === 'bytes_up') {
      onceIn(index, bytesUp, name);
      bytesUp = readU64(scanner, index, name);
    } else if (name === 'bytes_down') {
      onceIn(index, bytesDown, name);
      bytesDown = readU64(scanner, index, name);
    } else if (name === 'connections') {
      onceIn(index, connections, name);
      connections = isNull(scanner) ? null : readU64(scanner, index, name);
    } else skipValue(scanner);
  }
  if (accessKey === undefined) throw invalid(`entries[${index}].access_key`, 'a string that is not empty');
  if (bytesUp === undefined) throw invalid(`entries[${index}].bytes_up`, U64);
  if (bytesDown === undefined) throw invalid(`entries[${index}].bytes_down`, U64);
  return { accessKey, bytesUp, bytesDown, connections: connections ?? null };
}

/** The place is only put together where it is told. */
function onceIn(index: number, value: unknown, name: string): void {
  if (value !== undefined) once(value, `entries[${index}].${name}`);
}

function readKey(scanner: JsonScanner, index: number): string {
  const key = scanner.kind === Token.string ? stringValue(scanner) : '';
  if (key === '') throw invalid(`entries[${index}].access_key`, 'a string that is not empty');
  advance(scanner);
  return key;
}

function readU64(scanner: JsonScanner, index: number, name: string): bigint {
  const { bytes, start, end } = scanner;
  const value = isShortInteger(scanner) && bytes[start] !== MINUS ? BigInt(bytes.toString('latin1', start, end)) : null;
  if (value === null || value > MAX_U64) throw invalid(`entries[${index}].${name}`, U64);
  advance(scanner);
  return value;
}
