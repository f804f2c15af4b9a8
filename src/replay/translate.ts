import type { Answer, Call, Caller } from '../southbound/call.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import { jsonIn, LAST_WINS } from '../wire/json/json-in.js';
import { writeJson } from '../wire/json/write-json.js';
import type { OperationName } from '../wire/operations.js';
import { matchOperation } from './effects.js';
import { type GivenState, isPassword, keyOf } from './given-state.js';
import { sameJson } from './json-difference.js';
import type { OwnKeys } from './own-keys.js';
import type { GivenServer } from './scenario.js';
import type { Announcement } from './target-facts.js';

/** What a scenario's own names and numbers stand for on the server that it is played on. */
export interface Cast {
  readonly apiRoot: string;
  readonly state: GivenState;
  readonly server: GivenServer | undefined;
  readonly own: OwnKeys;
  /** What is sent instead of `Bearer` with the scenario's static token, and of the token as it stands; null leaves them. */
  readonly bearer: string | null;
  readonly token: string | null;
  readonly operator: { readonly username: string; readonly password: string } | null;
  readonly announced: Announcement | null;
  /** Counts to take off the status: what stood there before the scenario. */
  readonly before: { readonly total: bigint; readonly active: bigint };
  /** Null where the scenario's configuration does not stand on the server. */
  readonly configuration: CastConfiguration | null;
  /** Called between wrong logins, so that a server that slows guessing does not lock the run out. */
  readonly onManyWrongLogins: () => Promise<void>;
}

/** How a scenario's configuration goes into a live server's, whose listener and keys stay. */
export interface CastConfiguration {
  /** The server's own file as it stood. */
  readonly saved: JsonObject;
  /** The scenario's, as it stands now; grows with every replacement. */
  current: JsonObject;
}

/** Members of the file that decide how the server is reached: they stay what they are. */
const STAYING = ['api', 'listen'] as const;

/** A guard against guessing closes after five failures at the least. */
const WRONG_LOGINS_IN_A_ROW = 4;

/** A caller that speaks the scenario's words to a server that knows others: requests go out in its words, answers come back in the scenario's. */
export function translate(caller: Caller, cast: Cast): Caller {
  const wrong = { count: 0, sessionTold: false };
  return {
    close: () => caller.close(),
    async send(call) {
      const name = operationOf(call, cast);
      if (name === 'login' && wrong.count >= WRONG_LOGINS_IN_A_ROW && !wrong.sessionTold) {
        await cast.onManyWrongLogins();
        wrong.count = 0;
      }
      const body = bodyOut(call.body, name, cast);
      const path = pathOut(call, cast);
      const answer = await caller.send({ ...call, path, headers: headersOut(call.headers, cast), body });
      if (name === 'login') {
        wrong.count = answer.status === 401 ? wrong.count + 1 : 0;
        wrong.sessionTold ||= answer.status === 200;
      }
      if (name === 'putConfig' && answer.status === 200) replaced(call.body, cast);
      return answerIn(answer, name, cast);
    },
  };
}

function operationOf({ method, path }: Call, { apiRoot }: Cast): OperationName | null {
  return path.startsWith(apiRoot) ? (matchOperation(method, path.slice(apiRoot.length))?.operation.name ?? null) : null;
}

/** The prefix stands before the segment as it is written, so that its spelling stays what the scenario wants to see. */
function pathOut({ method, path }: Call, { apiRoot, own }: Cast): string {
  const matched = path.startsWith(apiRoot) ? matchOperation(method, path.slice(apiRoot.length)) : null;
  const segment = matched?.keySegment ?? null;
  if (segment === null || segment === '' || own.isOwn(segment)) return path;
  return path.replace(/(\/(?:users|subscribe)\/)/, `$1${own.prefix}`);
}

function headersOut(headers: ReadonlyMap<string, string>, { state, bearer, token }: Cast): ReadonlyMap<string, string> {
  const known = state.credentials.token;
  if (known === null || known === '') return headers;
  return new Map(
    [...headers].map(([name, value]) => {
      if (name.toLowerCase() !== 'authorization') return [name, value];
      if (bearer !== null && value === `Bearer ${known}`) return [name, bearer];
      return [name, token === null ? value : value.replaceAll(known, token)];
    }),
  );
}

function bodyOut(body: Buffer | undefined, name: OperationName | null, cast: Cast): Buffer | undefined {
  if (body === undefined) return undefined;
  if (name === 'login') return loginOut(body, cast);
  if (name === 'putConfig') return configOut(body, cast);
  // By its text, so that a body that no parser takes keeps its bytes.
  const text = body.toString('utf8');
  if (!text.includes('"access_key"')) return body;
  const named = text.replace(KEY_MEMBER, (whole: string, before: string, key: string) =>
    cast.own.isOwn(key) ? whole : `${before}${cast.own.prefix}${key}"`,
  );
  return Buffer.from(named, 'utf8');
}

/** The member and its text between the quotes, which must not be empty: an empty key stays empty. */
const KEY_MEMBER = /("access_key"\s*:\s*")((?:[^"\\]|\\.)+)"/g;

function loginOut(body: Buffer, { state, operator }: Cast): Buffer {
  const value = jsonIn(body, LAST_WINS);
  if (operator === null || !isJsonObject(value)) return body;
  const { username, password } = value;
  const changed: JsonObject = { ...value };
  if (username === state.credentials.username) changed.username = operator.username;
  if (typeof password === 'string' && isPassword(password, state.credentials)) changed.password = operator.password;
  return Buffer.from(writeJson(changed));
}

function configOut(body: Buffer, cast: Cast): Buffer {
  const value = jsonIn(body, LAST_WINS);
  if (!isJsonObject(value) || cast.configuration === null) return body;
  return Buffer.from(writeJson(mergedConfiguration(value, cast.configuration.saved, cast.own)));
}

/** A scenario's file as it goes to a live server: its own keys beside those of others, the server's own listener. */
export function mergedConfiguration(wanted: JsonObject, saved: JsonObject, own: OwnKeys): JsonObject {
  const merged: JsonObject = { ...wanted };
  for (const name of STAYING) {
    if (saved[name] === undefined) delete merged[name];
    else merged[name] = saved[name];
  }
  const foreign = Array.isArray(saved.access_keys) ? saved.access_keys : [];
  const ours = Array.isArray(wanted.access_keys) ? wanted.access_keys : [];
  merged.access_keys = [...foreign, ...ours.map((element) => prefixed(element, own))];
  return merged;
}

function prefixed(element: JsonValue, own: OwnKeys): JsonValue {
  const name = (accessKey: string) => {
    const named = own.isOwn(accessKey) ? accessKey : own.prefix + accessKey;
    own.add(named);
    return named;
  };
  if (typeof element === 'string') return name(element);
  if (!isJsonObject(element) || typeof element.access_key !== 'string') return element;
  return { ...element, access_key: name(element.access_key) };
}

function replaced(body: Buffer | undefined, { configuration }: Cast): void {
  const value = body === undefined ? undefined : jsonIn(body, LAST_WINS);
  if (configuration !== null && isJsonObject(value)) configuration.current = value;
}

function answerIn(answer: Answer, name: OperationName | null, cast: Cast): Answer {
  const shaped = name === null ? null : shapedIn(answer, name, cast);
  const text = (shaped === null ? answer.body.toString('utf8') : writeJson(shaped)).replaceAll(cast.own.prefix, '');
  const told = name === 'subscribe' ? announcedIn(text, cast) : text;
  return { ...answer, body: Buffer.from(told, 'utf8') };
}

/** The answer without what is not the scenario's; null where nothing has to go. */
function shapedIn({ status, body }: Answer, name: OperationName, cast: Cast): JsonValue | null {
  if (status !== 200 || !(name === 'listUsers' || name === 'getStatus' || name === 'getConfig')) return null;
  const value = jsonIn(body, LAST_WINS);
  if (!isJsonObject(value) || value.data === undefined) return null;
  return { ...value, data: dataIn(value.data, name, cast) };
}

function dataIn(data: JsonValue, name: OperationName, cast: Cast): JsonValue {
  if (name === 'listUsers') return Array.isArray(data) ? data.filter((each) => isOwnElement(each, cast.own)) : data;
  if (!isJsonObject(data)) return data;
  if (name === 'getConfig')
    return cast.configuration === null ? data : configurationIn(data, cast.configuration, cast.own);
  const { total, active } = cast.before;
  return { ...data, total_users: less(data.total_users, total), active_users: less(data.active_users, active) };
}

function less(value: JsonValue | undefined, count: bigint): JsonValue {
  return typeof value === 'bigint' ? value - count : (value ?? null);
}

/** The server's file as the scenario would have it: without the keys of others, with the scenario's own listener. */
export function configurationIn(data: JsonObject, { saved, current }: CastConfiguration, own: OwnKeys): JsonObject {
  const result: JsonObject = { ...data };
  if (Array.isArray(data.access_keys)) {
    const ours = data.access_keys.filter((each) => isOwnElement(each, own));
    if (ours.length === 0 && current.access_keys === undefined) delete result.access_keys;
    else result.access_keys = ours;
  }
  for (const name of STAYING) {
    if (!sameJson(data[name], saved[name])) continue;
    if (current[name] === undefined) delete result[name];
    else result[name] = current[name];
  }
  return result;
}

function isOwnElement(element: JsonValue, own: OwnKeys): boolean {
  return keyOf(element).some(({ accessKey }) => own.isOwn(accessKey));
}

/** The address and the scheme that the scenario's server announces. */
function announcedIn(text: string, { server, announced }: Cast): string {
  if (server === undefined || announced === null) return text;
  return text
    .replaceAll(`"${announced.scheme}://`, `"${server.shareScheme}://`)
    .replaceAll(announced.address, `${server.host}:${server.port}`);
}
