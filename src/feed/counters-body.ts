import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UsageEntry } from '../core/keys/types.js';
import { MAX_U64 } from '../core/model.js';
import type { CountersPost, SourceRun } from '../core/posted-counters.js';
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
import { readingBodyLater } from '../wire/json-body.js';
import { type EntryReader, invalid, memberName, once, readEntries, readU64 } from './entries.js';

/** Characters of a source's name. */
export const MOST_SOURCE_LENGTH = 200;

/** Entries that are read in one turn of the event loop. */
const AT_ONCE = 2_000;

/** The members of a post besides its counters, in the query or in its body, each in one of them. */
const SAID = ['source', 'epoch', 'uptime_seconds', 'number', 'from', 'restart', 'connections'] as const;
/** The members that are numbers; the others are words. */
const NUMBERS = ['epoch', 'uptime_seconds', 'number'] as const;
type Said = Partial<Record<(typeof SAID)[number], string | bigint>>;

/**
 * Reads a post: `counters` in a body of its own, or `data` in a server's own answer to `GET /users`, which is the whole list.
 * Others are answered in between. Rejects with `invalidBody`, whose detail names the place and what was expected there.
 */
export async function readCountersPost(bytes: Buffer, query: unknown): Promise<CountersPost> {
  if (!isUtf8(bytes)) throw invalid('body', 'UTF-8');
  return readingBodyLater(async () => {
    const scanner = createScanner(bytes, false);
    const said: Said = saidIn(query);
    const { counters, isWhole } = await readMembers(scanner, said);
    expectEnd(scanner);
    expectUnicode(scanner);
    return { ...postOf(said), isWhole, counters };
  });
}

function isSaid(name: string): name is (typeof SAID)[number] {
  return SAID.some((one) => one === name);
}

function saidIn(query: unknown): Said {
  const said: Said = {};
  for (const [name, value] of Object.entries(typeof query === 'object' && query !== null ? query : {})) {
    if (!isSaid(name)) continue;
    if (typeof value !== 'string') throw invalid(name, 'one parameter of this name');
    said[name] = value;
  }
  return said;
}

async function readMembers(
  scanner: JsonScanner,
  said: Said,
): Promise<{ readonly counters: readonly UsageEntry[]; readonly isWhole: boolean }> {
  if (scanner.kind !== Token.openObject) throw invalid('body', 'a JSON object');
  let counters: readonly UsageEntry[] | undefined;
  let isWhole = false;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    const name = memberName(scanner);
    if (name === 'counters' || name === 'data') {
      once(counters, name);
      isWhole = name === 'data';
      counters = await all(readEntries(scanner, name), name);
    } else if (name === 'ok') {
      if (scanner.bytes.toString('latin1', scanner.start, scanner.end) !== 'true')
        throw invalid('ok', 'true: the answer of a server that gave its keys');
      advance(scanner);
    } else if (isSaid(name)) {
      once(said[name], name);
      said[name] = saidHere(scanner, name);
    } else skipValue(scanner);
  }
  if (counters === undefined)
    throw invalid('counters', 'an array of entries, or "data" as a server answers GET /users');
  return { counters, isWhole };
}

async function all(reader: EntryReader, name: string): Promise<readonly UsageEntry[]> {
  const entries: UsageEntry[] = [];
  const seen = new Set<string>();
  for (let some = reader.next(AT_ONCE); some.length > 0; some = reader.next(AT_ONCE)) {
    for (const entry of some) {
      const place = `${name}[${entries.length}].access_key`;
      if (seen.has(entry.accessKey)) throw invalid(place, 'each key once');
      seen.add(entry.accessKey);
      entries.push(entry);
    }
    await nextTurn();
  }
  return entries;
}

function saidHere(scanner: JsonScanner, name: (typeof SAID)[number]): string | bigint {
  if (scanner.kind === Token.string) {
    const text = stringValue(scanner);
    advance(scanner);
    return text;
  }
  if (NUMBERS.some((one) => one === name)) return readU64(scanner, () => name);
  // No word is allowed to be empty: each is refused with what was expected of it.
  skipValue(scanner);
  return '';
}

function postOf(said: Said): Omit<CountersPost, 'counters' | 'isWhole'> {
  const source = typeof said.source === 'string' ? said.source : '';
  if (source === '' || source.length > MOST_SOURCE_LENGTH) {
    throw invalid('source', `a string of 1 to ${MOST_SOURCE_LENGTH} characters`);
  }
  return {
    source,
    run: runOf(said),
    number: wholeNumber(said.number, 'number'),
    isFromZero: oneOf(said.from, 'from', 'zero', 'now') === 'zero',
    restart: restartOf(said.restart),
    connections: oneOf(said.connections, 'connections', 'total', 'present'),
  };
}

function runOf({ epoch, uptime_seconds: uptime }: Said): SourceRun {
  if (epoch !== undefined && uptime !== undefined) throw invalid('epoch', 'either epoch or uptime_seconds');
  if (uptime !== undefined) return { kind: 'uptime', uptimeSeconds: wholeNumber(uptime, 'uptime_seconds') };
  return { kind: 'epoch', epoch: wholeNumber(epoch, 'epoch', ' (or uptime_seconds)') };
}

/** In the query every number is a text. */
function wholeNumber(value: string | bigint | undefined, place: string, or = ''): bigint {
  const number = typeof value === 'string' && /^\d{1,20}$/.test(value) ? BigInt(value) : value;
  if (typeof number === 'bigint' && number <= MAX_U64) return number;
  throw invalid(place, `an unsigned 64-bit integer${or}`);
}

function restartOf(value: Said['restart']): CountersPost['restart'] {
  if (value === undefined) return null;
  if (value === 'kept' || value === 'zero') return value;
  throw invalid('restart', '"kept" or "zero"');
}

function oneOf<A extends string, B extends string>(value: Said['from'], place: string, other: A, usual: B): A | B {
  if (value === undefined || value === usual) return usual;
  if (value === other) return other;
  throw invalid(place, `"${other}", or "${usual}" as where it is left out`);
}
