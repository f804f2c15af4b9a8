import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Caller } from '../../client/call.js';
import { JSON_TYPE } from '../../wire/envelope.js';
import { isJsonObject, type JsonObject, type JsonValue, jsonIn } from '../../wire/json/json.js';

export interface LookOptions {
  /** Sends only reads: GET and OPTIONS. */
  readonly caller: Caller;
  /** The web path of the address that was given. */
  readonly webpath: string;
  /** The static token; null if unknown. */
  readonly token: string | null;
  /** The token of a session that has begun; null without one. Looking never begins a session. */
  readonly session: string | null;
  /** Resolves after this many milliseconds; by default real ones. */
  readonly pause?: ((milliseconds: number) => Promise<unknown>) | undefined;
}

export interface Read {
  readonly method: 'GET' | 'OPTIONS';
  readonly path: string;
  readonly authorization: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Distinguishes a later answer to the same request, for what may have changed meanwhile. */
  readonly turn?: string;
}

/** The answer to a read. */
export interface Seen {
  readonly answer: Answer;
  /** The answer as an envelope; null for a page of the panel, or nothing. */
  readonly envelope: Envelope | null;
}

export interface Envelope {
  readonly ok: boolean;
  readonly data: JsonValue | undefined;
  readonly error: string | null;
  /** Members that do not belong to an envelope. */
  readonly others: readonly string[];
}

/** Looks at a server. Equal reads are sent once, however many rules ask for them. */
export type Look = ReturnType<typeof createLook>;

export function createLook({ caller, webpath, session, pause = sleep, ...options }: LookOptions) {
  const token = options.token === '' ? null : options.token;
  const seen = new Map<string, Promise<Seen>>();
  const passing = new Map<string, Promise<string | null | undefined>>();
  const pauses = new Map<string, Promise<unknown>>();

  /** Rejects with an `Error` for the user if there is no answer. */
  function read(asked: Read): Promise<Seen> {
    const id = JSON.stringify([asked.method, asked.path, asked.authorization, asked.headers, asked.turn]);
    return once(seen, id, () => send(asked, caller));
  }

  async function findPassing(apiRoot: string): Promise<string | null | undefined> {
    const secrets = [session, token].filter((each) => each !== null);
    for (const authorization of [null, ...secrets.map((each) => `Bearer ${each}`)]) {
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
    /**
     * Resolves to the `Authorization` that is accepted at this API root, null if none is needed; undefined if none is
     * known.
     */
    passing: (apiRoot: string) => once(passing, apiRoot, () => findPassing(apiRoot)),
    /** Waits this long before the turn of this name; once, however many rules have it. */
    pauseBefore: (turn: string, milliseconds: number) => once(pauses, turn, () => pause(milliseconds)),
  };
}

/** Returns the value stored under an id, making it if there is none yet. */
function once<T>(kept: Map<string, T>, id: string, make: () => T): T {
  const value = kept.get(id) ?? make();
  kept.set(id, value);
  return value;
}

async function send({ method, path, authorization, headers = {} }: Read, caller: Caller): Promise<Seen> {
  const all = new Map(Object.entries(headers));
  if (authorization !== null) all.set('authorization', authorization);
  return seenIn(await caller.send({ method, path, headers: all, body: undefined }));
}

export function seenIn(answer: Answer): Seen {
  return { answer, envelope: envelopeOf(answer) };
}

/** Returns the envelope; only an envelope is an answer of the API (protocol: "Where recorded servers differ"). */
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
