import { DomainError } from '../core/errors.js';
import { RecentMap } from '../core/recent-map.js';
import { isJsonObject, type JsonValue, parseJson } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { TargetCredentials } from './signed-in-caller.js';

/** Replaces a credential. */
export const STRUCK = '[struck out]';

/** In characters. A shorter credential may occur in an ordinary name or rule, which panels read and write back. */
export const LEAST_HIDDEN = 8;
/** The most sessions that are remembered, because a late answer may contain an earlier one. */
const MOST_SESSIONS = 8;
/**
 * Characters of a credential that cannot be guessed. If shorter ones were struck, anybody who can store a text would
 * see from it whether he has guessed one.
 */
const LEAST_UNGUESSABLE = 12;
/**
 * The most characters of remembered texts of each kind: struck texts of the server, and texts of callers that were not
 * struck.
 */
const MOST_CHARACTERS = 8_000_000;

/** Converts between the server's texts as Keyway shows them and as the server has them. */
export interface ServerTexts {
  /** Returns a text without any of Keyway's credentials for the server. */
  readonly struck: (text: string) => string;
  /** Does the same for a sentence to the user, in which short credentials are struck, too. */
  readonly inSentence: (text: string) => string;
  /** Returns the server's own text for a struck one, and any other text unchanged. */
  readonly own: (text: string) => string;
  /**
   * Does the same for a text that is to be written. Throws `configRefused` for a struck text that never came from the
   * server.
   */
  readonly written: (text: string) => string;
}

/**
 * Strikes Keyway's own credentials out of a server's texts, which may echo anything it is sent. When such a text is
 * written back as it was shown, the server's own text is restored.
 */
export class Secrets implements ServerTexts {
  readonly #credentials: TargetCredentials;
  readonly #sessions = new RecentMap<string, null>(MOST_SESSIONS);
  /** The server's own text for each struck one; null if two texts have the same. */
  readonly #own = recentTexts();
  readonly #given = recentTexts();
  #anywhere: RegExp | null = null;
  #unguessable: RegExp | null = null;
  #asWords: RegExp | null = null;

  constructor(credentials: TargetCredentials) {
    this.#credentials = credentials;
    this.#collect();
  }

  /** Names the credentials that are too short to be struck out of names and rules. */
  get short(): readonly string[] {
    const { token, operator } = this.#credentials;
    const isShort = (secret: string | undefined) =>
      secret !== undefined && secret !== '' && secret.length < LEAST_HIDDEN;
    return [...(isShort(token ?? '') ? ['token'] : []), ...(isShort(operator?.password) ? ['password'] : [])];
  }

  /** Adds a session that has begun. */
  learn(session: string): void {
    if (this.#sessions.has(session)) return;
    this.#sessions.set(session, null);
    this.#collect();
  }

  readonly struck = (text: string): string => {
    if (this.#anywhere === null || text.length < LEAST_HIDDEN) return text;
    const struck = text.replace(this.#anywhere, STRUCK);
    if (struck === text ? !text.includes(STRUCK) : this.#given.has(text)) return text;
    const known = this.#own.get(struck);
    this.#own.set(struck, known === undefined || known === text ? text : null);
    return struck;
  };

  /** Short credentials are struck if they are whole words. */
  readonly inSentence = (text: string): string => {
    const struck = this.#anywhere === null ? text : text.replace(this.#anywhere, STRUCK);
    return this.#asWords === null ? struck : struck.replace(this.#asWords, STRUCK);
  };

  /** Does the same as `struck` in every text of a value, including names of members. */
  struckIn(value: JsonValue): JsonValue {
    return inTexts(value, this.struck);
  }

  /** Does the same in texts that anybody may have stored and must learn nothing from; none of them is remembered. */
  struckForStrangers(value: JsonValue): JsonValue {
    const pattern = this.#unguessable;
    if (pattern === null) return value;
    return inTexts(value, (text) => (this.#given.has(text) ? text : text.replace(pattern, STRUCK)));
  }

  readonly own = (text: string): string => this.#own.get(text) ?? text;

  readonly written = (text: string): string => {
    if (this.#anywhere === null || !text.includes(STRUCK)) return text;
    const own = this.#own.get(text) ?? null;
    if (own === null) throw new DomainError('configRefused', HOLDS_STRUCK);
    return own;
  };

  /**
   * Remembers a text that came from a caller rather than the server, so that it is shown again as given. Striking it
   * would change what he wrote, and would reveal to anybody who can store a text whether he has guessed a credential.
   */
  give(text: string): void {
    if (this.#anywhere !== null && text.replace(this.#anywhere, STRUCK) !== text) this.#given.set(text, null);
  }

  /** Does the same for every text of a request's JSON body. */
  giveBody(body: Buffer): void {
    if (this.#anywhere === null) return;
    const json = body.toString('utf8');
    if (json.replace(this.#anywhere, STRUCK) === json) return;
    inTexts(parseJson(body), (text) => {
      this.give(text);
      return text;
    });
  }

  /** Returns a JSON body of Keyway's with the server's own texts for struck ones. Throws as `written` does. */
  restored(body: Buffer): Buffer {
    if (this.#anywhere === null || !body.includes(STRUCK)) return body;
    return Buffer.from(writeJson(inTexts(parseJson(body), this.written)));
  }

  #collect(): void {
    const { token, operator } = this.#credentials;
    const basic = operator === null ? [] : [Buffer.from(`${operator.username}:${operator.password}`)];
    const encoded = basic.flatMap((bytes) => [bytes.toString('base64'), bytes.toString('base64url')]);
    const pairs = encoded.filter((pair) => pair.length >= LEAST_HIDDEN);
    const all = [token ?? '', operator?.password ?? '', ...this.#sessions.keys()].filter((secret) => secret !== '');
    const long = all.filter((secret) => secret.length >= LEAST_HIDDEN);
    const short = all.filter((secret) => secret.length < LEAST_HIDDEN);
    const unguessable = all.filter((secret) => secret.length >= LEAST_UNGUESSABLE);
    const ofUnguessable = (operator?.password ?? '').length >= LEAST_UNGUESSABLE ? pairs : [];
    this.#anywhere = patternOf([...long.flatMap(spellings), ...pairs], (forms) => forms);
    this.#unguessable = patternOf([...unguessable.flatMap(spellings), ...ofUnguessable], (forms) => forms);
    this.#asWords = patternOf(
      short.flatMap(spellings),
      (forms) => `(?<![\\p{L}\\p{N}_])(?:${forms})(?![\\p{L}\\p{N}_])`,
    );
  }
}

const HOLDS_STRUCK = `this would write ${STRUCK} to the server, which stands where the server's text holds a credential of Keyway's: give the whole text as it was shown, or another without it`;

/** Texts with a value each. When they are too many, the least recently stored ones go. */
const recentTexts = () =>
  new RecentMap<string, string | null>(MOST_CHARACTERS, (text, of) => text.length + (of?.length ?? 0));

function inTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => inTexts(each, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [change(name), inTexts(member, change)]));
}

/** Matches any of these, the longest first; null if there are none. */
function patternOf(forms: readonly string[], around: (forms: string) => string): RegExp | null {
  if (forms.length === 0) return null;
  const sorted = [...new Set(forms)].sort((a, b) => b.length - a.length);
  const literal = sorted.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(around(literal.join('|')), 'gu');
}

/** Lists a secret's spellings: literally, as a JSON string encoded once and twice, and in a URL. */
function spellings(secret: string): readonly string[] {
  const wellFormed = Buffer.from(secret).toString('utf8');
  const inUrl = [encodeURI, encodeURIComponent].map((encode) => encode(wellFormed));
  const inLowerCase = inUrl.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase()));
  return [secret, inJson(secret), inJson(inJson(secret)), ...inUrl, ...inLowerCase];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
