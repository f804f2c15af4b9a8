import { dataIn, isJsonObject } from '../../wire/json/json.js';
import { Replacements } from '../format/replacements.js';
import type { Exchange, Scenario } from '../format/scenario.js';
import { describeExchange, isBelow, type Setting } from './describe.js';
import { inferGiven } from './infer-given.js';
import type { ProxiedExchange } from './proxy.js';

export interface RecorderOptions extends Setting {
  readonly revision: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly keepValues: boolean;
}

/** Makes scenarios from the exchanges that pass. What it returns contains nothing secret. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #replacements: Replacements;
  readonly #clients = new ClientSessions();
  readonly #recorded = new Map<number, { readonly sequence: number; readonly exchange: Exchange }[]>();
  #version: string | null = null;
  #panelFiles = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#replacements = new Replacements(options.keepValues);
  }

  /** Adds an exchange; returns the number of its session, or null for a file of the panel, which is left out. */
  add(passed: ProxiedExchange): number | null {
    if (isPanelFile(passed, this.#options)) {
      this.#panelFiles += 1;
      return null;
    }
    const exchange = describeExchange(passed, this.#options, this.#replacements);
    const session = this.#clients.numberFor({
      client: passed.client,
      authorization: passed.requestHeaders.get('authorization') ?? null,
      newToken: exchange.operation === 'login' ? textAt(passed.responseBody, 'token') : null,
      wasRefused: passed.status === 401,
    });
    const list = this.#recorded.get(session) ?? [];
    this.#recorded.set(session, list);
    list.push({ sequence: passed.sequence, exchange });
    if (exchange.operation === 'getStatus') this.#version = versionIn(passed.responseBody) ?? this.#version;
    return session;
  }

  /** Returns the scenario of one session so far. */
  scenario(session: number): Scenario {
    const { date, revision } = this.#options;
    const inOrder = [...(this.#recorded.get(session) ?? [])].sort((a, b) => a.sequence - b.sequence);
    const exchanges = inOrder.map(({ exchange }) => exchange);
    return {
      title: `a client's session, recorded on ${date}`,
      revision,
      source: 'recorded',
      ...(this.#version === null ? {} : { serverVersion: this.#version }),
      recordedAt: date,
      anonymous: true,
      given: inferGiven(exchanges),
      exchanges,
    };
  }

  get sessions(): readonly number[] {
    return [...this.#recorded.keys()];
  }

  /** The number of exchanges added. */
  get count(): number {
    return [...this.#recorded.values()].flat().length;
  }

  get panelFiles(): number {
    return this.#panelFiles;
  }
}

interface Session {
  readonly id: number;
  /** True once one of its credentials was accepted. */
  hasCredential: boolean;
}

/** The marks by which an exchange belongs to a session. */
interface SessionMarks {
  readonly client: string;
  readonly authorization: string | null;
  /** The token from a successful login. */
  readonly newToken: string | null;
  readonly wasRefused: boolean;
}

/**
 * Separates client sessions: a session is a credential, together with everything that the same client did without one.
 * A new credential of a client that already has one begins another session, unless it was refused or a login of the
 * session returned it.
 */
class ClientSessions {
  readonly #byCredential = new Map<string, Session>();
  readonly #byClient = new Map<string, Session>();
  #count = 0;

  numberFor(marks: SessionMarks): number {
    const session = this.#sessionFor(marks);
    this.#byClient.set(marks.client, session);
    if (marks.newToken !== null) {
      session.hasCredential = true;
      this.#byCredential.set(`Bearer ${marks.newToken}`, session);
    }
    return session.id;
  }

  #sessionFor({ client, authorization, wasRefused }: SessionMarks): Session {
    const known = authorization === null ? undefined : this.#byCredential.get(authorization);
    if (known !== undefined) return known;
    const present = this.#byClient.get(client) ?? this.#fresh();
    if (authorization === null || wasRefused) return present;
    const session = present.hasCredential ? this.#fresh() : present;
    session.hasCredential = true;
    this.#byCredential.set(authorization, session);
    return session;
  }

  #fresh(): Session {
    this.#count += 1;
    return { id: this.#count, hasCredential: false };
  }
}

/** Tells whether an exchange is a file of the panel, of which each build has its own, outside the API. */
function isPanelFile(passed: ProxiedExchange, { apiRoot, base }: RecorderOptions): boolean {
  const { method, path, status, responseHeaders } = passed;
  const isStatic = (method === 'GET' || method === 'HEAD') && base !== '' && isBelow(path, base);
  const isHere = status === 200 || status === 304;
  return (
    isStatic && isHere && !isBelow(path, apiRoot) && !/^text\/html/.test(responseHeaders.get('content-type') ?? '')
  );
}

/** Returns the version; one in another form may be private. */
function versionIn(body: Buffer): string | null {
  const version = textAt(body, 'version');
  return version !== null && /^\d+\.\d+\.\d+$/.test(version) ? version : null;
}

function textAt(body: Buffer, member: string): string | null {
  const data = dataIn(body);
  const value = isJsonObject(data) ? data[member] : null;
  return typeof value === 'string' ? value : null;
}
