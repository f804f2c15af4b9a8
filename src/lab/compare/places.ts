import type { Answer } from '../../client/call.js';
import { isJsonObject, type JsonValue, jsonIn } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { keyOf } from '../format/given-state.js';
import { type AnswerDifference, coversPath, pointerName, sameJson } from '../format/json-difference.js';
import type { Bindings } from '../format/placeholders.js';
import type { Exchange } from '../format/scenario.js';
import { isSecretMember } from '../format/strip.js';
import { isBelow } from '../record/describe.js';

/** How the answers of one server are read for a comparison with another's. */
export interface Reading {
  /** The values of the placeholders on this server. */
  readonly bindings: Bindings;
  /** Keys that only this server has; its answers about them are left out of the comparison. */
  readonly foreign?: ReadonlySet<string>;
  /** This server's `{base}`, if it may differ from the other server's; absent if it is the same. */
  readonly base?: string;
}

/** An answer, prepared for comparison. */
export interface ReadAnswer {
  /** Every place outside the body, with its value. */
  readonly outside: ReadonlyMap<string, JsonValue>;
  /** Undefined if it is not JSON. */
  readonly body: JsonValue | undefined;
  readonly foreign: ReadonlySet<string>;
  readonly named: (text: string) => string;
  /** JSON pointers of unordered lists; a segment `*` matches any. */
  readonly unordered: readonly string[];
}

const NO_KEYS: ReadonlySet<string> = new Set();

/** Prepares an answer, or null for no answer. */
export function readAnswer(
  answer: Answer | null,
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  { bindings, foreign = NO_KEYS, base = '' }: Reading,
): ReadAnswer {
  const named = NAMERS.get(bindings) ?? namer(bindings);
  NAMERS.set(bindings, named);
  const how = { foreign, named, unordered: response.unordered ?? [] };
  if (answer === null) return { ...how, outside: new Map([['connection', 'no answer']]), body: undefined };
  const outside = new Map<string, JsonValue>([['status', BigInt(answer.status)]]);
  for (const name of request.headers?.origin === undefined ? HEADERS : [...HEADERS, ALLOWED_ORIGIN]) {
    const value = answer.headers.get(name);
    if (value !== undefined) outside.set(`header ${name}`, headerHeld(name, value, base));
  }
  const body = jsonIn(answer.body);
  if (body === undefined && !isPage(answer)) outside.set('text', named(answer.body.toString('utf8')));
  return { ...how, outside, body: typeof body === 'string' ? named(body) : body };
}

/** The functions by their bindings, which are those of a whole run: it has many answers and may have many keys. */
const NAMERS = new WeakMap<Bindings, (text: string) => string>();

const HEADERS = ['content-type', 'location', 'allow'];
/** Means nothing to a program that sends no origin. */
const ALLOWED_ORIGIN = 'access-control-allow-origin';

function headerHeld(name: string, value: string, base: string): string {
  if (name === 'allow')
    return value
      .split(/\s*,\s*/)
      .sort()
      .join(', ');
  return base !== '' && isBelow(value, base) ? `{base}${value.slice(base.length)}` : value;
}

/** Tells whether an answer is a page of the server's own panel, which is not part of the contract. */
function isPage({ headers }: Answer): boolean {
  return headers.get('content-type')?.startsWith('text/html') === true;
}

/**
 * Returns a function that replaces values made by a server with the names of their placeholders, of several at one place
 * the longest. It looks texts up instead of searching for each value: both servers may have many keys.
 */
function namer(bindings: Bindings): (text: string) => string {
  const values = [...bindings].filter(
    ([name, value]) => /^(?:key|session|audit-id|secret):/.test(name) && value.length > 3,
  );
  // Of equal values the first name counts.
  const names = new Map(values.reverse().map(([name, value]) => [value, name]));
  const lengths = [...new Set([...names.keys()].map(({ length }) => length))].sort((a, b) => b - a);
  const least = lengths.at(-1);
  if (least === undefined) return (text) => text;
  const nextLike = beginnings([...names.keys()], least);
  return (text) => {
    let named = '';
    let rest = 0;
    for (let at = nextLike(text, 0); at !== -1; ) {
      const length = lengths.find((each) => names.has(text.slice(at, at + each)));
      if (length !== undefined) {
        named += `${text.slice(rest, at)}<${names.get(text.slice(at, at + length))}>`;
        rest = at + length;
      }
      at = nextLike(text, at + (length ?? 1));
    }
    return named + text.slice(rest);
  };
}

/** Odd, with bits all over. */
const BASE = 0x9e3779b1;

/**
 * Returns a function that finds the next place, from one on, where a text is likely to go on as one of the values begins,
 * by as many characters; -1 for none. A hash that moves along finds each such place: a look-up at every place of a long
 * text would take seconds.
 */
function beginnings(values: readonly string[], length: number): (text: string, from: number) => number {
  // Of a hash as many of the highest bits count as leave at most one place in 16 likely by chance.
  const bits = 4 + Math.ceil(Math.log2(values.length));
  const begins = new Uint8Array(2 ** bits);
  const slot = (hash: number) => hash >>> (32 - bits);
  const hashAt = (text: string, from: number) => {
    let hash = 0;
    for (let at = from; at < from + length; at += 1) hash = Math.imul(hash, BASE) + text.charCodeAt(at);
    return hash;
  };
  let weight = 1;
  for (let at = 1; at < length; at += 1) weight = Math.imul(weight, BASE);
  for (const value of values) begins[slot(hashAt(value, 0))] = 1;
  return (text, from) => {
    if (from + length > text.length) return -1;
    let hash = hashAt(text, from);
    for (let at = from; ; at += 1) {
      if (begins[slot(hash)] === 1) return at;
      if (at + length >= text.length) return -1;
      hash = Math.imul(hash - Math.imul(text.charCodeAt(at), weight), BASE) + text.charCodeAt(at + length);
    }
  };
}

/** Lists the places where two answers differ: those that the left one has, then those of the right one alone. */
export function differentPlaces(left: ReadAnswer, right: ReadAnswer): readonly AnswerDifference[] {
  const [found, added]: [AnswerDifference[], AnswerDifference[]] = [[], []];
  const hold = (where: string, expected: JsonValue | undefined, actual: JsonValue | undefined) => {
    if (!sameJson(expected, actual)) (expected === undefined ? added : found).push({ where, expected, actual });
  };
  const holdBodies = (one: JsonValue | undefined, other: JsonValue | undefined, path: string) => {
    const [parts, others] = [partsOf(one, path, left), partsOf(other, path, right)];
    // A part that only one of them has is shown as a whole, without its own parts, some of which may be secret.
    if (parts === null || others === null) hold(`body ${path}`, wholeOf(one, parts), wholeOf(other, others));
    else
      for (const segment of new Set([...parts.keys(), ...others.keys()]))
        holdBodies(parts.get(segment), others.get(segment), `${path}/${segment}`);
  };
  for (const [where, value] of left.outside) hold(where, value, right.outside.get(where));
  for (const [where, value] of right.outside) if (!left.outside.has(where)) hold(where, undefined, value);
  holdBodies(left.body, right.body, '');
  return [...found, ...added];
}

/** Matches an element of a list in a place, by number or by key. */
const ELEMENT = /\/(?:\d+|\[[^/]*\])(?=\/|$)/g;

/** Returns a place with `*` for each element of a list. */
export function generalPlace(where: string): string {
  return where.replaceAll(ELEMENT, '/*');
}

type Parts = ReadonlyMap<string, JsonValue>;

/** Returns a value without parts as it is, and any other as a pair of brackets. */
function wholeOf(value: JsonValue | undefined, parts: Parts | null): JsonValue | undefined {
  if (parts === null) return value;
  return Array.isArray(value) ? '[…]' : '{…}';
}

/** Returns the elements or members of a value by their segment of a JSON pointer; null if it has none. */
function partsOf(value: JsonValue | undefined, path: string, reading: ReadAnswer): Parts | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return value.length === 0 ? null : elementsOf(value, path, reading);
  const { named } = reading;
  const parts = new Map<string, JsonValue>();
  for (const [name, member] of Object.entries(value)) {
    // Secrets are specific to a server, and are never shown.
    const isHidden = isSecretMember(name) && member !== null && typeof member !== 'boolean';
    parts.set(pointerName(named(name)), isHidden ? '<secret>' : shown(member, reading));
  }
  return parts.size === 0 ? null : parts;
}

function elementsOf(list: readonly JsonValue[], path: string, reading: ReadAnswer): Parts {
  const { named, foreign, unordered } = reading;
  const keyed = byKey(list, path);
  if (keyed !== null) {
    const own = [...keyed].filter(([key]) => !foreign.has(key));
    return new Map(own.map(([key, element]) => [`[${pointerName(named(key))}]`, shown(element, reading)]));
  }
  const isUnordered = unordered.some((pattern) => coversPath(pattern, path));
  const elements = isUnordered ? inOneOrder(list, named) : list;
  return new Map(elements.map((element, index) => [`${index}`, shown(element, reading)]));
}

function shown(value: JsonValue, { named }: ReadAnswer): JsonValue {
  return typeof value === 'string' ? named(value) : value;
}

/** Matches members under which a configuration lists keys, some of them as plain texts. */
const KEY_LIST = /\/(?:access_keys|users)$/;

/** Returns the elements of a list of keys, whose order is not defined, by key; null for any other list. */
function byKey(list: readonly JsonValue[], path: string): ReadonlyMap<string, JsonValue> | null {
  if (!(KEY_LIST.test(path) || list.every((each) => isJsonObject(each) && 'access_key' in each))) return null;
  const keyed = new Map(list.flatMap((each) => keyOf(each).map(({ accessKey }) => [accessKey, each] as const)));
  return keyed.size === list.length ? keyed : null;
}

/** Sorts by text, with the names of placeholders for values made by servers, which both servers share. */
function inOneOrder(list: readonly JsonValue[], named: (text: string) => string): readonly JsonValue[] {
  const texts = new Map(list.map((each) => [each, named(writeJson(each))]));
  return [...list].sort((a, b) => compareTexts(texts.get(a) ?? '', texts.get(b) ?? ''));
}

export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
