import { isJsonObject, type JsonValue, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { Revision } from '../wire/traits/revision.js';
import type { Answer, Call, Caller, Target } from './call.js';

/** The credentials for a live server. */
export interface TargetCredentials {
  readonly token: string | null;
  /** With its password, or null. */
  readonly operator: { readonly username: string; readonly password: string } | null;
}

/** The player's own requests to a live server, beside those of the scenarios. */
export interface Control {
  /** Sends with the player's own credential; signs in again and repeats once when that was refused. */
  send(
    method: string,
    path: string,
    body?: JsonValue,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ControlAnswer>;
  /** The `Authorization` that passes now, after signing in where that is needed; null without any credential. */
  authorization(): Promise<string | null>;
  /** The token of a session that passes now, after signing in where there is none; null where nobody can sign in. */
  session(): Promise<string | null>;
  /** Signs in anew. Rejects with an `Error` for people when that is refused. */
  login(): Promise<void>;
}

export interface ControlAnswer {
  readonly status: number;
  /** The envelope's `data`, undefined when there is none. */
  readonly data: JsonValue | undefined;
  /** The envelope's `error`, or the answer's beginning where it is no envelope. */
  readonly error: string;
  readonly answer: Answer;
}

/** Says what came to a read in place of what was asked for. */
export function unreadWords(path: string, { status, error, answer }: ControlAnswer): string {
  const wait = answer.headers.get('retry-after');
  const words = status === 200 ? '200 without what belongs there' : `${status} ${error}`.trim();
  return `GET ${path} answers ${words}${wait === undefined ? '' : ` and asks to wait ${wait} s`}`;
}

/** Makes the player's own line to a server. */
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
