import { isJsonObject, type JsonValue } from '../wire/json/json.js';
import type { TargetCredentials } from './control.js';

/** What stands where a credential stood. */
export const STRUCK = '[struck out]';

/** Characters. What is shorter is no secret, and stands in other texts by chance. */
const SHORTEST = 6;
/** Sessions that are remembered: an answer that is on its way may hold the one before. */
const MOST_SESSIONS = 8;

/** Strikes Keyway's own credentials for a server out of what that server says: it may echo whatever it is sent. */
export class Secrets {
  readonly #fixed: readonly string[];
  readonly #sessions: string[] = [];
  #forms: readonly string[];
  #hasStruck = false;

  constructor({ token, operator }: TargetCredentials) {
    this.#fixed = [token ?? '', operator?.password ?? ''];
    this.#forms = formsOf(this.#fixed);
  }

  /** A session has begun. */
  learn(session: string): void {
    if (this.#sessions.includes(session)) return;
    this.#sessions.push(session);
    if (this.#sessions.length > MOST_SESSIONS) this.#sessions.shift();
    this.#forms = formsOf([...this.#fixed, ...this.#sessions]);
  }

  strike(text: string): string {
    let struck = text;
    for (const form of this.#forms) if (struck.includes(form)) struck = struck.replaceAll(form, STRUCK);
    if (struck !== text) this.#hasStruck = true;
    return struck;
  }

  /** Whether a request may hold a text as it was struck, and not as the server has it. */
  mayBeStruckIn(body: Buffer | undefined): boolean {
    return this.#hasStruck && body?.includes(STRUCK) === true;
  }

  /** The same in every text of a value, names of members included. */
  strikeAll(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.strike(value);
    if (Array.isArray(value)) return value.map((each) => this.strikeAll(each));
    if (!isJsonObject(value)) return value;
    const members = Object.entries(value).map(([name, member]) => [this.strike(name), this.strikeAll(member)]);
    return Object.fromEntries(members);
  }
}

/** As they are, and as they stand in a JSON text, once and twice over; the longest first. */
function formsOf(secrets: readonly string[]): readonly string[] {
  const long = secrets.filter((secret) => secret.length >= SHORTEST);
  const forms = long.flatMap((secret) => [
    secret,
    inJson(secret),
    inJson(inJson(secret)),
    encodeURI(secret),
    encodeURIComponent(secret),
  ]);
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
