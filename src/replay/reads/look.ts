import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Caller } from '../../client/call.js';
import { JSON_TYPE } from '../../wire/envelope.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import { jsonIn } from '../../wire/json/json-in.js';

/** What is known of a server before it is looked at. */
export interface LookOptions {
  /** Nothing but reads goes through it: GET and OPTIONS. */
  readonly caller: Caller;
  /** The web path of the address that was given. */
  readonly webpath: string;
  /** The static token; null where none is known. */
  readonly token: string | null;
  /** The token of a session that has begun; null for none. Looking begins none itself. */
  readonly session: string | null;
  /** Resolves so many milliseconds later; real ones when left out. */
  readonly pause?: ((milliseconds: number) => Promise<unknown>) | undefined;
}

/** One read. */
export interface Read {
  readonly method: 'GET' | 'OPTIONS';
  readonly path: string;
  readonly authorization: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names a further answer to the same request, for what may have changed meanwhile. */
  readonly turn?: string;
}

/** What came to a read. */
export interface Seen {
  readonly answer: Answer;
  /** The answer as an envelope; null where it is none: a page of the panel, or nothing. */
  readonly envelope: Envelope | null;
}

export interface Envelope {
  readonly ok: boolean;
  readonly data: JsonValue | undefined;
  readonly error: string | null;
  /** Members that an envelope does not have. */
  readonly others: readonly string[];
}

/** Looks at a server. The same read is sent once, however many rules ask for it. */
export interface Look extends Pick<LookOptions, 'webpath' | 'token' | 'session'> {
  /** Rejects with an `Error` for people when there is no answer. */
  read(read: Read): Promise<Seen>;
  /** The `Authorization` that gets in at this API root, null where none is needed; undefined where none is known to. */
  passing(apiRoot: string): Promise<string | null | undefined>;
  /** Waits so long before the turn of this name; once, however many rules have it. */
  pauseBefore(turn: string, milliseconds: number): Promise<unknown>;
}

export function createLook({ caller, webpath, session, pause = sleep, ...options }: LookOptions): Look {
  const token = options.token === '' ? null : options.token;
  const seen = new Map<string, Promise<Seen>>();
  const passing = new Map<string, Promise<string | null | undefined>>();
  const pauses = new Map<string, Promise<unknown>>();

  function read(asked: Read): Promise<Seen> {
    const id = JSON.stringify([asked.method, asked.path, asked.authorization, asked.headers, asked.turn]);
    const known = seen.get(id) ?? send(asked, caller);
    seen.set(id, known);
    return known;
  }

  async function findPassing(apiRoot: string): Promise<string | null | undefined> {
    const candidates = [
      null,
      ...(session === null ? [] : [`Bearer ${session}`]),
      ...(token === null ? [] : [`Bearer ${token}`]),
    ];
    for (const authorization of candidates) {
      const { answer } = await read({ method: 'GET', path: `${apiRoot}/server/status`, authorization });
      if (answer.status === 200) return authorization;
    }
    return undefined;
  }

  return {
    webpath,
    token,
    session,
    read,
    passing(apiRoot) {
      const known = passing.get(apiRoot) ?? findPassing(apiRoot);
      passing.set(apiRoot, known);
      return known;
    },
    pauseBefore(turn, milliseconds) {
      const known = pauses.get(turn) ?? pause(milliseconds);
      pauses.set(turn, known);
      return known;
    },
  };
}

async function send({ method, path, authorization, headers = {} }: Read, caller: Caller): Promise<Seen> {
  const all = new Map(Object.entries(headers));
  if (authorization !== null) all.set('authorization', authorization);
  return seenIn(await caller.send({ method, path, headers: all, body: undefined }));
}

export function seenIn(answer: Answer): Seen {
  return { answer, envelope: envelopeOf(answer) };
}

/** Only an envelope is an answer of the API (protocol: "Where recorded servers differ"). */
function envelopeOf({ headers, body }: Answer): Envelope | null {
  if (headers.get('content-type')?.startsWith(JSON_TYPE) !== true) return null;
  const value = jsonIn(body);
  if (!isJsonObject(value) || typeof value.ok !== 'boolean') return null;
  const { ok, data, error, ...others }: JsonObject = value;
  return {
    ok: value.ok,
    data,
    error: typeof error === 'string' ? error : null,
    others: [...Object.keys(others), ...(ok === true && error !== undefined ? ['error'] : [])],
  };
}
