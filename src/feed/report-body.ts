import { isUtf8 } from 'node:buffer';
import type { UsageReport } from '../core/backend.js';
import type { UsageEntry } from '../core/keys/types.js';
import {
  advance,
  another,
  createScanner,
  enter,
  expectEnd,
  expectUnicode,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
} from '../wire/json/scanner.js';
import { readingBody } from '../wire/json-body.js';
import { invalid, isNull, memberName, once, readEntries } from './entries.js';

/** Characters of a report's id. */
export const MOST_ID_LENGTH = 200;

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
      entries = readEntries(scanner, name).next(Number.POSITIVE_INFINITY);
    } else skipValue(scanner);
  }
  if (entries === undefined) throw invalid('entries', 'an array of entries');
  return { id: id ?? null, entries };
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
