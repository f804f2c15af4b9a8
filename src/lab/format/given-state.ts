import { createHash } from 'node:crypto';
import { isBare, keyFields, recordBy, recordOf, valueIn } from '../../core/keys/key-record.js';
import type { AccessKey, Credentials } from '../../core/model.js';
import { isPbkdf2 } from '../../core/password.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type Exchange, exchangesOf, type Given, type Scenario } from './scenario.js';

/** The given state of a scenario, in whichever way it is written. */
export interface GivenState {
  /** The file's root; null if there is no file or it is not an object. */
  readonly root: JsonObject | null;
  readonly hasFile: boolean;
  /** The file's key list, in the order and form of its elements. */
  readonly keys: readonly AccessKey[];
  readonly credentials: Credentials;
  /** The passwords with which its logins succeed. */
  readonly acceptedPasswords: ReadonlySet<string>;
  readonly webpath: string;
  readonly dnsEnabled: boolean;
  /** True if any key has traffic, which no operation can produce. */
  readonly hasTraffic: boolean;
}

export function givenStateOf(scenario: Scenario): GivenState {
  const { given } = scenario;
  const value = fileValue(given);
  const root = value !== undefined && isJsonObject(value) ? value : null;
  const listener = listenerOf(root);
  const own = given.listener ?? {};
  return {
    root,
    hasFile: given.config !== undefined || given.configText !== undefined,
    keys: root === null ? [] : keysOfFile(root),
    credentials: {
      token: own.token ?? textOr(listener.token, null),
      username: own.username ?? textOr(listener.username, ''),
      passwordHash: own.password_hash ?? textOr(listener.password_hash, ''),
    },
    acceptedPasswords: new Set(exchangesOf(scenario).filter(isAcceptedLogin).flatMap(passwordOf)),
    webpath: own.webpath ?? textOr(listener.webpath, ''),
    dnsEnabled: root !== null && isJsonObject(root.dns) && root.dns.enabled === true,
    hasTraffic: (given.counters ?? []).some((each) => each.bytes_up + each.bytes_down + each.connections > 0n),
  };
}

/**
 * Tells whether the scenario prescribes the state before it. A recording of a live server does not: its `given` was
 * inferred for an embedded core, and the server that it is played on has the state itself.
 */
export function hasGivenState({ given, anonymous }: Scenario): boolean {
  if (anonymous === true) return false;
  return given.config !== undefined || given.configText !== undefined || given.listener !== undefined;
}

/** Tells whether these credentials leave the API open in a revision. */
export function isOpenState({ credentials }: GivenState, revision: Revision): boolean {
  return revision.auth.isOpen(credentials);
}

/** Tells whether a login is answered like the operator's. */
export function isAcceptedLogin({ operation, response }: Exchange): boolean {
  return operation === 'login' && response.status === 200;
}

function passwordOf({ request: { body } }: Exchange): readonly string[] {
  return body !== undefined && isJsonObject(body) && typeof body.password === 'string' ? [body.password] : [];
}

/** Tells whether a text is the operator's password; for a slow hash, the answers decide. */
export function isPassword(text: string, { credentials, acceptedPasswords }: GivenState): boolean {
  const { passwordHash } = credentials;
  if (isPbkdf2(passwordHash)) return acceptedPasswords.has(text);
  return passwordHash !== '' && createHash('sha256').update(text, 'utf8').digest('hex') === passwordHash;
}

function fileValue({ config, configText }: Given): JsonValue | undefined {
  if (configText === undefined) return config;
  try {
    return parseJson(Buffer.from(configText.join('\n')), { comments: true, duplicates: 'last' });
  } catch {
    return undefined;
  }
}

function listenerOf(root: JsonObject | null): JsonObject {
  if (root === null) return {};
  if (isJsonObject(root.api)) return root.api;
  const inbounds = Array.isArray(root.inbounds) ? root.inbounds : [];
  return inbounds.filter(isJsonObject).find(({ protocol }) => protocol === 'api') ?? {};
}

/** Lists the keys of a configuration file, in either layout. */
export function keysOfFile(root: JsonObject): readonly AccessKey[] {
  const inbounds = Array.isArray(root.inbounds) ? root.inbounds.filter(isJsonObject) : [];
  const lists = [...inbounds.map(({ users }) => users), root.access_keys];
  return lists.flatMap((list) => (Array.isArray(list) ? list : [])).flatMap(keyOf);
}

/** Reads a key element: a text, or an object with `access_key` (or `key`). */
export function keyOf(element: JsonValue): readonly AccessKey[] {
  if (typeof element === 'string') return [recordOf(element)];
  if (!isJsonObject(element)) return [];
  const accessKey = element.access_key ?? element.key;
  if (typeof accessKey !== 'string') return [];
  return [recordBy(accessKey, (field) => valueIn(field, element[field.member]))];
}

/** Returns a key as the API takes and lists it, with null for missing values. */
export function membersOf(key: AccessKey): JsonObject {
  const said = keyFields.map(({ name, member }) => [member, key[name]]);
  return { access_key: key.accessKey, ...Object.fromEntries(said) };
}

/** Returns a key as an element of a configuration's key list. */
export function elementOf(key: AccessKey): JsonValue {
  return isBare(key) ? key.accessKey : withoutNulls(membersOf(key));
}

/** Returns the traffic in a snapshot of a key; zeros if it shows none. */
export function trafficOf({ bytes_up, bytes_down, connections }: JsonObject) {
  const count = (value: JsonValue | undefined) => (typeof value === 'bigint' ? value : 0n);
  return { bytes_up: count(bytes_up), bytes_down: count(bytes_down), connections: count(connections) };
}

export function withoutNulls(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Replaces each key list of a configuration, in either layout. */
export function withKeyLists(config: JsonObject, change: (list: JsonValue[]) => JsonValue[]): JsonObject {
  const { access_keys, inbounds } = config;
  const changed = (inbound: JsonValue) =>
    isJsonObject(inbound) && Array.isArray(inbound.users) ? { ...inbound, users: change(inbound.users) } : inbound;
  return {
    ...config,
    ...(Array.isArray(access_keys) ? { access_keys: change(access_keys) } : {}),
    ...(Array.isArray(inbounds) ? { inbounds: inbounds.map(changed) } : {}),
  };
}

function textOr<T>(value: JsonValue | undefined, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}
