import { isJsonObject, type JsonValue, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { Revision } from '../wire/traits/revision.js';
import type { Answer, Call, Caller, Target } from './call.js';

/** The credentials for a live server. */
export interface TargetCredentials {
  readonly token: string | null;
  /** Name and password, or null. */
  readonly operator: { readonly username: string; readonly password: string } | null;
}

/** The player's own requests to a live server, as opposed to those of the scenarios. */
export interface Control {
  /** Sends with the player's own credential; if that is refused, signs in again and repeats once. */
  send(
    method: string,
    path: string,
    body?: JsonValue,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ControlAnswer>;
  /** Returns the valid `Authorization`, after signing in if necessary; null without any credential. */
  authorization(): Promise<string | null>;
  /** Returns the token of a valid session, after signing in if necessary; null without a login. */
  session(): Promise<string | null>;
  /** Signs in again. Rejects with an `Error` for the user if that is refused. */
  login(): Promise<void>;
}

export interface ControlAnswer {
  readonly status: number;
  /** The envelope's `data`; undefined if it has none. */
  readonly data: JsonValue | undefined;
  /** The envelope's `error`, or the beginning of an answer without an envelope. */
  readonly error: string;
  readonly answer: Answer;
}

/** Describes the answer to a read that did not bring what was asked for. */
export function unreadWords(path: string, { status, error, answer }: ControlAnswer): string {
  const wait = answer.headers.get('retry-after');
  const words = status === 200 ? '200 without what belongs there' : `${status} ${error}`.trim();
  return `GET ${path} answers ${words}${wait === undefined ? '' : ` and asks to wait ${wait} s`}`;
}

/** Creates the player's own connection to a server. */
export function createControl(
  caller: Caller,
  { target, revision, credentials }: { target: Target; revision: Revision; credentials: TargetCredentials },
): Control {
  const session: { token: string | null } = { token: null };
  const { token, operator } = credentials;
  const byToken = token === null || token === '' ? null : revision.auth.encode({ kind: 'token', secret: token });

  const held = (): string | null => {
    if (byToken !== null) return byToken;
    return session.token === null ? null : revision.auth.encode({ kind: 'session', secret: session.token });
  };
  const once = async (
    method: string,
    path: string,
    body?: JsonValue,
    extra: Readonly<Record<string, string>> = {},
  ): Promise<ControlAnswer> => {
    const headers = new Map(Object.entries(extra));
    const credential = held();
    if (credential !== null) headers.set('authorization', credential);
    if (body !== undefined) headers.set('content-type', 'application/json');
    const call: Call = { method, path: target.apiRoot + path, headers, body: bytesOf(body) };
    return readEnvelope(await caller.send(call));
  };
  const login = async (): Promise<void> => {
    if (operator === null) throw new Error('there is nothing to sign in with');
    const { status, data, answer } = await once('POST', '/login', { ...operator });
    const given = data !== undefined && isJsonObject(data) ? data.token : undefined;
    if (status === 200 && typeof given === 'string') {
      session.token = given;
      return;
    }
    const wait = answer.headers.get('retry-after');
    const guarded = wait === undefined ? '' : `; the server slows login guessing, try again in ${wait} s`;
    throw new Error(`the login as ${operator.username} was refused with ${status}${guarded}`);
  };
  const canLogin = operator !== null && revision.capabilities.login !== undefined;
  const send: Control['send'] = async (method, path, body, extra) => {
    const first = await once(method, path, body, extra);
    if (first.status !== 401 || byToken !== null || !canLogin) return first;
    await login();
    return once(method, path, body, extra);
  };
  return {
    send,
    login,
    async session() {
      if (canLogin && session.token === null) await login();
      return session.token;
    },
    async authorization() {
      if (byToken !== null || !canLogin) return held();
      await send('GET', '/server/status');
      return held();
    },
  };
}

function bytesOf(body: JsonValue | undefined): Buffer | undefined {
  return body === undefined ? undefined : Buffer.from(writeJson(body));
}

function readEnvelope(answer: Answer): ControlAnswer {
  const { status, body } = answer;
  const value = jsonIn(body);
  if (value === undefined) return { status, data: undefined, error: body.toString('utf8').slice(0, 80), answer };
  const error = isJsonObject(value) && typeof value.error === 'string' ? value.error : '';
  return { status, data: isJsonObject(value) ? value.data : undefined, error, answer };
}
