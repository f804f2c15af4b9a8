import { DomainError } from '../core/errors.js';
import { isJsonObject, type JsonValue, parseJson } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { TargetCredentials } from './signed-in-caller.js';

/** The text in place of a credential. */
export const STRUCK = '[struck out]';

/** Characters. What is shorter may stand in an honest name or rule, which panels read and write back. */
export const LEAST_HIDDEN = 8;
/** Sessions that are remembered: an answer that is on its way may hold the one before. */
const MOST_SESSIONS = 8;
/** Characters of a credential that nobody guesses: what anybody may have a text stored with shows whether he has guessed a shorter one. */
const LEAST_UNGUESSABLE = 12;
/** Characters of texts that are remembered of either kind: those of the server that were struck, and those of callers that were not. */
const MOST_CHARACTERS = 8_000_000;

/** The server's texts as Keyway shows them, and as the server has them. */
export interface ServerTexts {
  /** Without any of Keyway's credentials for the server. */
  readonly struck: (text: string) => string;
  /** The same of a sentence for people, in which those that are short are struck, too. */
  readonly inSentence: (text: string) => string;
  /** The server's own text for one that was struck; others are as they are. */
  readonly own: (text: string) => string;
  /** The same of a text that is to be written. Throws `configRefused` for a struck one that the server never said. */
  readonly written: (text: string) => string;
}

/**
 * Strikes Keyway's own credentials for a server out of what that server says, which may echo whatever it is sent; what is
 * written back as it was shown becomes the server's own text again.
 */
export class Secrets implements ServerTexts {
  readonly #credentials: TargetCredentials;
  readonly #sessions: string[] = [];
  /** The server's own text by the struck one; null where there are two. */
  readonly #own = new RecentTexts();
  readonly #given = new RecentTexts();
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

  /** A session has begun. */
  learn(session: string): void {
    if (this.#sessions.includes(session)) return;
    this.#sessions.push(session);
    if (this.#sessions.length > MOST_SESSIONS) this.#sessions.shift();
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

  /** Short ones where they stand as words. */
  readonly inSentence = (text: string): string => {
    const struck = this.#anywhere === null ? text : text.replace(this.#anywhere, STRUCK);
    return this.#asWords === null ? struck : struck.replace(this.#asWords, STRUCK);
  };

  /** The same in every text of a value, names of members included. */
  struckIn(value: JsonValue): JsonValue {
    return inTexts(value, this.struck);
  }

  /** The same in texts that anybody may have stored, and of which he is to learn nothing: none of them is remembered. */
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
   * A text that a caller gave Keyway, and not the server: it is shown again as he gave it. To strike it would change what
   * he wrote, and would tell everybody who can have a text stored whether he has guessed a credential.
   */
  give(text: string): void {
    if (this.#anywhere !== null && text.replace(this.#anywhere, STRUCK) !== text) this.#given.set(text, null);
  }

  /** The same with every text of a request's body, JSON. */
  giveBody(body: Buffer): void {
    if (this.#anywhere === null) return;
    const json = body.toString('utf8');
    if (json.replace(this.#anywhere, STRUCK) === json) return;
    inTexts(parseJson(body), (text) => {
      this.give(text);
      return text;
    });
  }

  /** A body of Keyway's own making, JSON, with the server's own texts for those that were struck. Throws as `written` does. */
  restored(body: Buffer): Buffer {
    if (this.#anywhere === null || !body.includes(STRUCK)) return body;
    return Buffer.from(writeJson(inTexts(parseJson(body), this.written)));
  }

  #collect(): void {
    const { token, operator } = this.#credentials;
    const basic = operator === null ? [] : [Buffer.from(`${operator.username}:${operator.password}`)];
    const encoded = basic.flatMap((bytes) => [bytes.toString('base64'), bytes.toString('base64url')]);
    const pairs = encoded.filter((pair) => pair.length >= LEAST_HIDDEN);
    const all = [token ?? '', operator?.password ?? '', ...this.#sessions].filter((secret) => secret !== '');
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

/** Texts with what is known of them; those that nobody came by for longest go where there are too many. */
class RecentTexts {
  readonly #texts = new Map<string, string | null>();
  #characters = 0;

  has(text: string): boolean {
    return this.#texts.has(text);
  }

  get(text: string): string | null | undefined {
    return this.#texts.get(text);
  }

  set(text: string, of: string | null): void {
    this.#delete(text);
    this.#texts.set(text, of);
    this.#characters += text.length + (of?.length ?? 0);
    for (const oldest of this.#texts.keys()) {
      if (this.#characters <= MOST_CHARACTERS) return;
      this.#delete(oldest);
    }
  }

  #delete(text: string): void {
    const of = this.#texts.get(text);
    if (of === undefined) return;
    this.#texts.delete(text);
    this.#characters -= text.length + (of?.length ?? 0);
  }
}

function inTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => inTexts(each, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [change(name), inTexts(member, change)]));
}

/** Matches any of these, the longest first; null for none. */
function patternOf(forms: readonly string[], around: (forms: string) => string): RegExp | null {
  if (forms.length === 0) return null;
  const sorted = [...new Set(forms)].sort((a, b) => b.length - a.length);
  const literal = sorted.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(around(literal.join('|')), 'gu');
}

/** Returns a secret as it is, as it stands in a JSON text, once and twice over, and in a URL. */
function spellings(secret: string): readonly string[] {
  const wellFormed = Buffer.from(secret).toString('utf8');
  const inUrl = [encodeURI, encodeURIComponent].map((encode) => encode(wellFormed));
  const inLowerCase = inUrl.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase()));
  return [secret, inJson(secret), inJson(inJson(secret)), ...inUrl, ...inLowerCase];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
