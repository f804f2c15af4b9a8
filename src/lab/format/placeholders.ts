import type { JsonValue } from '../../wire/json/json.js';
import { FORMS, NUMBERED, PLACEHOLDER_KINDS } from './placeholder-forms.js';
import { STAND_IN } from './secrets.js';

/** The values of one chain's numbered placeholders, by name (`key:1`). */
export type Bindings = Map<string, string>;

/** Set in the bindings of a recording whose own keys became placeholders, so that such a key may be any text. */
const ANY_KEY = 'form:key';

/** Returns the bindings before the first step; in an anonymous recording `<key:n>` matches any text. */
export function createBindings(isAnonymous: boolean): Bindings {
  return new Map(isAnonymous ? [[ANY_KEY, 'any']] : []);
}

const PLACEHOLDER = new RegExp(
  `<(?:(${PLACEHOLDER_KINDS.join('|')}):([0-9]+)|(${Object.keys(FORMS).join('|')}))>`,
  'g',
);
const WHOLE_SECRET = /^<secret:[0-9]+>$/;
/** Matches a whole text that is described instead of written out. */
const DESCRIBED = /^<text (containing|starting|matching):(.*)>$/s;
const UPTIME = '<uptime>';

/** A placeholder in a request has no value, because no answer has contained it yet. */
export class UnboundPlaceholder extends Error {
  constructor(name: string) {
    super(`<${name}> has no value yet: no answer before this step told one`);
    this.name = 'UnboundPlaceholder';
  }
}

/** Replaces every numbered placeholder in a text by its value, through `encode`. Throws `UnboundPlaceholder`. */
export function fillText(
  text: string,
  bindings: Bindings,
  encode: (value: string) => string = (value) => value,
): string {
  return text.replace(PLACEHOLDER, (whole, kind: string | undefined, number: string | undefined) => {
    if (kind === undefined) return whole;
    const value = bindings.get(`${kind}:${number}`);
    if (value === undefined) throw new UnboundPlaceholder(`${kind}:${number}`);
    return encode(value);
  });
}

/** Tells whether any placeholder of this text is unbound, so that anything of its form would match. */
export function hasUnbound(text: string, bindings: Bindings): boolean {
  for (const [, kind, number] of text.matchAll(PLACEHOLDER)) {
    if (kind !== undefined && !bindings.has(`${kind}:${number}`)) return true;
  }
  return false;
}

/**
 * Tells whether an answer's value matches a scenario's text. Placeholders that match for the first time are bound in
 * `bindings`; nothing is bound unless the whole text matches.
 */
export function matchText(expected: string, actual: JsonValue, bindings: Bindings): boolean {
  if (expected === UPTIME) return typeof actual === 'bigint' && actual >= 0n;
  if (WHOLE_SECRET.test(expected)) return matchSecret(expected.slice(1, -1), actual, bindings);
  if (typeof actual !== 'string') return false;
  if (!expected.includes('<')) return expected === actual;
  const described = DESCRIBED.exec(expected);
  if (described !== null) return matchDescription(described[1] ?? '', described[2] ?? '', actual);
  return matchTemplate(expected, actual, bindings);
}

/**
 * Matches a secret, which equals any value. Later requests use the last text that it matched, except for the run's own
 * credential: a file that shows the token again does not change who asks.
 */
function matchSecret(name: string, actual: JsonValue, bindings: Bindings): true {
  if (typeof actual === 'string' && bindings.get(name) !== STAND_IN.token) bindings.set(name, actual);
  return true;
}

function matchDescription(how: string, what: string, actual: string): boolean {
  if (how === 'containing') return actual.includes(what);
  if (how === 'starting') return actual.startsWith(what);
  return new RegExp(`^(?:${what})$`, 's').test(actual);
}

function matchTemplate(expected: string, actual: string, bindings: Bindings): boolean {
  // A picture is too long for a pattern.
  if (expected.search(PLACEHOLDER) < 0) return expected === actual;
  const groups: string[] = [];
  let pattern = '';
  let end = 0;
  for (const match of expected.matchAll(PLACEHOLDER)) {
    pattern += escapeRegExp(expected.slice(end, match.index)) + placeholderPattern(match, bindings, groups);
    end = match.index + match[0].length;
  }
  pattern += escapeRegExp(expected.slice(end));
  const result = new RegExp(`^${pattern}$`, 's').exec(actual);
  return result !== null && bindAll(groups, result.slice(1), bindings);
}

/**
 * Returns the pattern of one placeholder; an unbound one becomes a group, listed in `groups`, which later ones refer
 * back to.
 */
function placeholderPattern(match: RegExpMatchArray, bindings: Bindings, groups: string[]): string {
  const [, kind, number, described] = match;
  if (kind === undefined) return `(?:${FORMS[described ?? ''] ?? ''})`;
  const name = `${kind}:${number}`;
  const value = kind === 'secret' ? undefined : bindings.get(name);
  if (value !== undefined) return escapeRegExp(value);
  const earlier = groups.indexOf(name);
  if (earlier >= 0) return `(?:\\${earlier + 1})`;
  groups.push(name);
  const form = kind === 'key' && bindings.has(ANY_KEY) ? '.*' : (NUMBERED[kind] ?? '');
  return `(${form})`;
}

function bindAll(names: readonly string[], values: readonly (string | undefined)[], bindings: Bindings): boolean {
  const fresh = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const value = values[index];
    if (value === undefined || isTaken(name, value, bindings) || isTaken(name, value, fresh)) return false;
    fresh.set(name, value);
  }
  for (const [name, value] of fresh) bindings.set(name, value);
  return true;
}

/** Tells whether another number of the same kind already has this value. */
function isTaken(name: string, value: string, bindings: ReadonlyMap<string, string>): boolean {
  const kind = name.slice(0, name.indexOf(':') + 1);
  if (kind === 'secret:') return false;
  for (const [other, taken] of bindings) {
    if (other !== name && other.startsWith(kind) && taken === value) return true;
  }
  return false;
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
