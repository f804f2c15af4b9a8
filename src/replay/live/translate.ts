import type { Answer, Call, Caller } from '../../client/call.js';
import type { AccessKey } from '../../core/model.js';
import { dataIn, isJsonObject, type JsonObject, type JsonValue, jsonIn, LAST_WINS } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { OperationName } from '../../wire/operations.js';
import { type MatchedRequest, matchOperation, pathWithKey } from '../format/effects.js';
import { type GivenState, isPassword, keyOf } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import { mapTexts } from '../format/map-texts.js';
import { movedPlace } from '../format/parse-place.js';
import type { GivenServer } from '../format/scenario.js';
import { withKeysOfNow } from './keys-of-now.js';
import type { OwnKeys } from './own-keys.js';
import { ROUNDS } from './saved-state.js';
import { untilReloaded } from './take-over.js';
import type { Announcement } from './target-facts.js';

/** The translation of a scenario's own names and numbers to those of the server that it is played on. */
export interface Translation {
  readonly apiRoot: string;
  readonly state: GivenState;
  readonly server: GivenServer | undefined;
  readonly own: OwnKeys;
  /** Sent instead of `Bearer` with the scenario's static token, and instead of the bare token; null leaves them. */
  readonly bearer: string | null;
  readonly token: string | null;
  readonly operator: { readonly username: string; readonly password: string } | null;
  readonly announced: Announcement | null;
  /** Counts to take off the status: what stood there before the scenario. */
  readonly before: { readonly total: bigint; readonly active: bigint };
  /** Null where the scenario's configuration does not stand on the server. */
  readonly configuration: InstalledConfiguration | null;
  /** Called between wrong logins, so that a server that slows guessing does not lock the run out. */
  readonly onManyWrongLogins: () => Promise<void>;
}

/** A scenario's configuration on a live server, whose listener and keys stay. */
export interface InstalledConfiguration {
  /** The server's own file as it stood. */
  readonly saved: JsonObject;
  /** The keys that it listed then. */
  readonly keys: readonly AccessKey[];
  /** The scenario's, as it stands now; grows with every replacement. */
  current: JsonObject;
}

/** Members of the file that decide how the server is reached: they stay what they are. */
const STAYING = ['api', 'listen'] as const;

/** A guard against guessing closes after five failures at the least. */
const WRONG_LOGINS_IN_A_ROW = 4;

/** A caller that speaks the scenario's words to a server that knows others: requests go out in its words, answers come back in the scenario's. */
export function translate(caller: Caller, translation: Translation): Caller {
  const wrong = { count: 0, sessionTold: false };
  return {
    close: () => caller.close(),
    async send(call) {
      const matched = matchedBy(call, translation);
      const name = matched?.operation.name ?? null;
      if (name === 'login' && wrong.count >= WRONG_LOGINS_IN_A_ROW && !wrong.sessionTold) {
        await translation.onManyWrongLogins();
        wrong.count = 0;
      }
      const send = (body: Buffer | undefined) =>
        caller.send({
          ...call,
          path: matched === null ? call.path : pathOut(call.path, matched, translation),
          headers: headersOut(call.headers, translation),
          body,
        });
      const keysOfNow = async () => (name === 'putConfig' ? listedAs(call, caller, translation) : []);
      const wanted = async () => bodyOut(call.body, name, translation, await keysOfNow());
      let body = await wanted();
      const answer = await send(body);
      if (name === 'login') {
        wrong.count = answer.status === 401 ? wrong.count + 1 : 0;
        wrong.sessionTold ||= answer.status === 200;
      }
      if (name === 'putConfig' && answer.status === 200) {
        replaced(call.body, translation);
        // Keys that others changed in that instant: from its next reload on, a server goes by the file alone.
        for (let round = 1; round < ROUNDS; round += 1) {
          const again = await wanted();
          if (body === undefined || again?.equals(body) !== false) break;
          await send(again);
          body = again;
        }
        // With the scenario's own credential: a login of the run's would end its session.
        await untilReloaded((path) => readAs(call, path, caller, translation));
      }
      return name === null ? answer : answerIn(withPlaceOf(call.body, body, answer), name, translation);
    },
  };
}

/** The keys that a server lists; those that stood there before where the call's credential reads none. */
async function listedAs(call: Call, caller: Caller, translation: Translation): Promise<readonly AccessKey[]> {
  const list = await readAs(call, '/users', caller, translation);
  return Array.isArray(list) ? list.flatMap(keyOf) : (translation.configuration?.keys ?? []);
}

async function readAs(
  { headers }: Call,
  path: string,
  caller: Caller,
  translation: Translation,
): Promise<JsonValue | undefined> {
  const kept = new Map(
    [...headersOut(headers, translation)].filter(([name]) => name.toLowerCase() === 'authorization'),
  );
  const { body } = await caller.send({
    method: 'GET',
    path: translation.apiRoot + path,
    headers: kept,
    body: undefined,
  });
  return dataIn(body, LAST_WINS);
}

function matchedBy({ method, path }: Call, { apiRoot }: Translation): MatchedRequest | null {
  return path.startsWith(apiRoot) ? matchOperation(method, path.slice(apiRoot.length)) : null;
}

/** The prefix stands before the segment as it is written, so that its spelling stays what the scenario wants to see. */
function pathOut(path: string, matched: MatchedRequest, { apiRoot, own }: Translation): string {
  const { keySegment } = matched;
  if (keySegment === null || keySegment === '' || own.isOwn(keySegment)) return path;
  return apiRoot + pathWithKey(matched, path.slice(apiRoot.length), own.prefix + keySegment);
}

function headersOut(
  headers: ReadonlyMap<string, string>,
  { state, bearer, token }: Translation,
): ReadonlyMap<string, string> {
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

/** Changes the body of a request, by operation; one that is no JSON object keeps its bytes. */
const BODIES_OUT: Partial<
  Readonly<
    Record<OperationName, (body: JsonObject, translation: Translation, keys: readonly AccessKey[]) => JsonObject>
  >
> = {
  login: loginOut,
  createUser: newKeyOut,
  putConfig: (body, { configuration, own }, keys) =>
    configuration === null ? body : mergedConfiguration(body, configuration, keys, own),
};

/** `keys` are those that the server lists now. */
function bodyOut(
  body: Buffer | undefined,
  name: OperationName | null,
  translation: Translation,
  keys: readonly AccessKey[],
): Buffer | undefined {
  const change = name === null ? undefined : BODIES_OUT[name];
  const value = body === undefined || change === undefined ? undefined : jsonIn(body, LAST_WINS);
  if (change === undefined || !isJsonObject(value)) return body;
  const changed = change(value, translation, keys);
  return changed === value ? body : Buffer.from(writeJson(changed));
}

/** An empty key stays empty. */
function newKeyOut(body: JsonObject, { own }: Translation): JsonObject {
  const { access_key: key } = body;
  if (typeof key !== 'string' || key === '' || own.isOwn(key)) return body;
  return { ...body, access_key: own.prefix + key };
}

function loginOut(body: JsonObject, { state, operator }: Translation): JsonObject {
  if (operator === null) return body;
  const { username, password } = body;
  const changed: JsonObject = { ...body };
  if (username === state.credentials.username) changed.username = operator.username;
  if (typeof password === 'string' && isPassword(password, state.credentials)) changed.password = operator.password;
  return changed;
}

/** A scenario's file as it goes to a live server: its own keys beside those of others, the server's own listener. */
export function mergedConfiguration(
  wanted: JsonObject,
  { saved, keys }: Pick<InstalledConfiguration, 'saved' | 'keys'>,
  now: readonly AccessKey[],
  own: OwnKeys,
): JsonObject {
  const others = now.filter(({ accessKey }) => !own.isOwn(accessKey));
  const { access_keys: list } = withKeysOfNow(saved, keys, others);
  const merged: JsonObject = { ...wanted };
  for (const name of STAYING) {
    if (saved[name] === undefined) delete merged[name];
    else merged[name] = saved[name];
  }
  const foreign = Array.isArray(list) ? list : [];
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

function replaced(body: Buffer | undefined, { configuration }: Translation): void {
  const value = body === undefined ? undefined : jsonIn(body, LAST_WINS);
  if (configuration !== null && isJsonObject(value)) configuration.current = value;
}

/** Moves the place in a complaint about the body that was sent to the same place in the scenario's. */
function withPlaceOf(own: Buffer | undefined, sent: Buffer | undefined, answer: Answer): Answer {
  if (own === undefined || sent === undefined || own === sent || answer.status < 400) return answer;
  const [text, from, to] = [answer.body, sent, own].map((each) => each.toString('utf8'));
  return { ...answer, body: Buffer.from(movedPlace(text ?? '', from ?? '', to ?? '')) };
}

/** The answer with the scenario's names for its own keys; one that is no JSON keeps its bytes. */
function answerIn(answer: Answer, name: OperationName, translation: Translation): Answer {
  const value = jsonIn(answer.body, LAST_WINS);
  if (value === undefined) return answer;
  const ours = (text: string) => text.replaceAll(translation.own.prefix, '');
  const shaped =
    answer.status === 200 && isJsonObject(value) && value.data !== undefined
      ? { ...value, data: DATA_IN[name]?.(value.data, translation) ?? value.data }
      : value;
  return { ...answer, body: Buffer.from(writeJson(mapTexts(shaped, ours, ours))) };
}

/** Takes out of an operation's answer everything that is not the scenario's. */
const DATA_IN: Partial<Readonly<Record<OperationName, (data: JsonValue, translation: Translation) => JsonValue>>> = {
  listUsers: (data, { own }) => (Array.isArray(data) ? data.filter((each) => isOwnElement(each, own)) : data),
  getStatus: (data, { before }) =>
    isJsonObject(data)
      ? {
          ...data,
          total_users: less(data.total_users, before.total),
          active_users: less(data.active_users, before.active),
        }
      : data,
  // No operation makes a query: those that stand there are of others.
  listDnsQueries: (data) => (Array.isArray(data) ? [] : data),
  getConfig: (data, { configuration, own }) =>
    isJsonObject(data) && configuration !== null ? configurationIn(data, configuration, own) : data,
  subscribe: announcedIn,
};

function less(value: JsonValue | undefined, count: bigint): JsonValue {
  return typeof value === 'bigint' ? value - count : (value ?? null);
}

/** The server's file as the scenario would have it: without the keys of others, with the scenario's own listener. */
export function configurationIn(
  data: JsonObject,
  { saved, current }: InstalledConfiguration,
  own: OwnKeys,
): JsonObject {
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

export function isOwnElement(element: JsonValue, own: OwnKeys): boolean {
  return keyOf(element).some(({ accessKey }) => own.isOwn(accessKey));
}

/** A link or a client configuration with the address and the scheme that the scenario's server announces. */
function announcedIn(data: JsonValue, { server, announced }: Translation): JsonValue {
  if (server === undefined || announced === null) return data;
  const address = `${server.host}:${server.port}`;
  if (isJsonObject(data)) return data.server === announced.address ? { ...data, server: address } : data;
  if (typeof data !== 'string' || !data.startsWith(`${announced.scheme}://`)) return data;
  const rest = data.slice(announced.scheme.length);
  return server.shareScheme + rest.replace(`@${announced.address}`, () => `@${address}`);
}
