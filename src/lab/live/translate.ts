import type { Answer, Call, Caller } from '../../client/call.js';
import { isJsonObject, type JsonObject, type JsonValue, jsonIn, LAST_WINS } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { OperationName } from '../../wire/operations.js';
import { type MatchedRequest, matchOperation, pathWithKey } from '../format/effects.js';
import { type GivenState, isPassword, keyOf } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import { mapTexts } from '../format/map-texts.js';
import { movedPlace } from '../format/parse-place.js';
import type { GivenServer } from '../format/scenario.js';
import type { OwnKeys } from './own-keys.js';
import type { Announcement } from './target-facts.js';

/** The translation of a scenario's names and numbers to those of the server that it is played on. */
export interface Translation {
  readonly apiRoot: string;
  readonly state: GivenState;
  readonly server: GivenServer | undefined;
  readonly own: OwnKeys;
  /** Sent in place of `Bearer` with the scenario's static token, and of the bare token; null leaves them. */
  readonly bearer: string | null;
  readonly token: string | null;
  readonly operator: { readonly username: string; readonly password: string } | null;
  readonly announced: Announcement | null;
  readonly status: {
    /** The server's status before the scenario, whose counts are subtracted. */
    readonly before: JsonObject;
    /** The number of the scenario's keys that the server counts as present. */
    readonly keysThere: bigint;
    /** The address for clients of the scenario's server, or undefined. */
    readonly endpoint: JsonValue | undefined;
  };
  /** Called between wrong logins, so that a server which throttles guessing does not lock the run out. */
  readonly onManyWrongLogins: () => Promise<void>;
}

/** A guard against guessing closes after five failures at the earliest. */
const WRONG_LOGINS_IN_A_ROW = 4;

/**
 * Wraps a caller so that it translates between a scenario and a live server: requests get the server's values, answers
 * the scenario's.
 */
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
      const body = bodyOut(call.body, name, translation);
      const answer = await caller.send({
        ...call,
        path: matched === null ? call.path : pathOut(call.path, matched, translation),
        headers: headersOut(call.headers, translation),
        body,
      });
      if (name === 'login') {
        wrong.count = answer.status === 401 ? wrong.count + 1 : 0;
        wrong.sessionTold ||= answer.status === 200;
      }
      return name === null ? answer : answerIn(withPlaceOf(call.body, body, answer), name, translation);
    },
  };
}

function matchedBy({ method, path }: Call, { apiRoot }: Translation): MatchedRequest | null {
  return path.startsWith(apiRoot) ? matchOperation(method, path.slice(apiRoot.length)) : null;
}

/** Prefixes the key's segment as written, so that the spelling that the scenario tests survives. */
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

/** How request bodies are translated, by operation; anything but a JSON object stays as it is. */
const BODIES_OUT: Partial<Readonly<Record<OperationName, (body: JsonObject, translation: Translation) => JsonObject>>> =
  { login: loginOut, createUser: newKeyOut };

function bodyOut(body: Buffer | undefined, name: OperationName | null, translation: Translation): Buffer | undefined {
  const change = name === null ? undefined : BODIES_OUT[name];
  const value = body === undefined || change === undefined ? undefined : jsonIn(body, LAST_WINS);
  if (change === undefined || !isJsonObject(value)) return body;
  const changed = change(value, translation);
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
  if (typeof password === 'string' && isPassword(password, state)) changed.password = operator.password;
  return changed;
}

/** Moves the place in a complaint about the body that was sent to the same place in the scenario's. */
function withPlaceOf(own: Buffer | undefined, sent: Buffer | undefined, answer: Answer): Answer {
  if (own === undefined || sent === undefined || own === sent || answer.status < 400) return answer;
  const [text, from, to] = [answer.body, sent, own].map((each) => each.toString('utf8'));
  return { ...answer, body: Buffer.from(movedPlace(text ?? '', from ?? '', to ?? '')) };
}

/** Returns the answer with the scenario's names for its own keys; one that is not JSON keeps its bytes. */
function answerIn(answer: Answer, name: OperationName, translation: Translation): Answer {
  const value = jsonIn(answer.body, LAST_WINS);
  if (value === undefined) return answer;
  const ours = (text: string) => text.replaceAll(translation.own.prefix, '');
  const shaped = answer.status === 200 && isJsonObject(value) ? successIn(value, name, translation) : value;
  return { ...answer, body: Buffer.from(writeJson(mapTexts(shaped, ours, ours))) };
}

function successIn(value: JsonObject, name: OperationName, translation: Translation): JsonObject {
  const { data, links } = value;
  const shown = (link: string) => linkIn(link, translation);
  return {
    ...value,
    ...(data === undefined ? {} : { data: DATA_IN[name]?.(data, translation) ?? data }),
    ...(links === undefined ? {} : { links: mapTexts(links, shown, (member) => member) }),
  };
}

/** Removes from an operation's answer everything that is not the scenario's. */
const DATA_IN: Partial<Readonly<Record<OperationName, (data: JsonValue, translation: Translation) => JsonValue>>> = {
  listUsers: (data, { own }) => (Array.isArray(data) ? data.filter((each) => isOwnElement(each, own)) : data),
  getStatus: (data, { status }) => (isJsonObject(data) ? statusIn(data, status) : data),
  // No operation makes DNS queries, so the logged ones are other clients'.
  listDnsQueries: (data) => (Array.isArray(data) ? [] : data),
  subscribe: announcedIn,
};

/** The members of a status that count the keys and traffic of all clients. */
export const COUNTS = ['total_users', 'active_users', 'online_users', 'connections', 'bytes_up', 'bytes_down'] as const;

/** Reduces a status to the scenario's keys, and shows its endpoint if the server's own is as before. */
function statusIn(data: JsonObject, { before, keysThere, endpoint }: Translation['status']): JsonObject {
  const less = (member: string): JsonObject => {
    const [now, then] = [data[member], before[member]];
    if (typeof now !== 'bigint' || typeof then !== 'bigint') return {};
    return { [member]: now - then + (member === 'total_users' ? keysThere : 0n) };
  };
  const { endpoint: told = null } = data;
  const isSame = endpoint !== undefined && told !== null && sameJson(told, before.endpoint ?? null);
  return Object.assign({ ...data }, ...COUNTS.map(less), isSame ? { endpoint } : {});
}

export function isOwnElement(element: JsonValue, own: OwnKeys): boolean {
  return keyOf(element).some(({ accessKey }) => own.isOwn(accessKey));
}

/** Gives a link or a client configuration the address and the scheme that the scenario's server announces. */
function announcedIn(data: JsonValue, translation: Translation): JsonValue {
  if (typeof data === 'string') return linkIn(data, translation);
  const { server, announced } = translation;
  if (server === undefined || !isJsonObject(data) || data.server !== announced?.address) return data;
  return { ...data, server: `${server.host}:${server.port}` };
}

function linkIn(link: string, { server, announced }: Translation): string {
  if (server === undefined || announced === null || !link.startsWith(`${announced.scheme}://`)) return link;
  const rest = link.slice(announced.scheme.length);
  return server.shareScheme + rest.replace(`@${announced.address}`, () => `@${server.host}:${server.port}`);
}
