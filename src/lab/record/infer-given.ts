import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Subject } from '../../wire/operations/operation.js';
import type { OperationName } from '../../wire/operations.js';
import { decoded, keysNamed, makesKeys, matchRequest } from '../format/effects.js';
import { elementOf, keyOf, trafficOf } from '../format/given-state.js';
import type { CounterState, Exchange, Given } from '../format/scenario.js';

/**
 * Infers the state at the beginning of a recorded session, as far as its answers show: its configuration, keys and
 * counters as they were read before the session changed them. What no answer contained is left out, so that a replay on
 * an embedded core reveals it.
 */
export function inferGiven(exchanges: readonly Exchange[]): Given {
  const read = (operation: OperationName, ...changes: readonly Subject[]) => firstRead(exchanges, operation, changes);
  const snapshots = snapshotsIn(untilChange(exchanges, KEY_CHANGES), keysUsed(exchanges));
  const config = read('getConfig', 'configuration', 'rules', 'dns');
  const file = isJsonObject(config)
    ? withKeysBefore(config, exchanges, snapshots)
    : fileOf(snapshots, read('getRules', 'configuration', 'rules'), read('getDnsConfig', 'configuration', 'dns'));
  const counters = snapshots.map(countersOf).filter((each) => each.bytes_up + each.bytes_down + each.connections > 0n);
  return { config: file, ...(counters.length === 0 ? {} : { counters }) };
}

/** A replaced configuration may contain another key list. */
const KEY_CHANGES: readonly Subject[] = ['keys', 'configuration'];

/** Returns the exchanges before the first successful one that changes any of these. */
function untilChange(exchanges: readonly Exchange[], changes: readonly Subject[]): readonly Exchange[] {
  const change = exchanges.findIndex(({ request, response }) => {
    const operation = matchRequest(request)?.operation;
    if (operation === undefined || response.status !== 200) return false;
    return operation.effect.kind !== 'reads' && changes.includes(operation.subject);
  });
  return exchanges.slice(0, change < 0 ? undefined : change);
}

function firstRead(exchanges: readonly Exchange[], operation: OperationName, changes: readonly Subject[]): JsonValue {
  return dataOf(untilChange(exchanges, changes).find((each) => each.operation === operation && isRead(each)));
}

function isRead({ response }: Exchange): boolean {
  return response.status === 200;
}

function dataOf(exchange: Exchange | undefined): JsonValue {
  const body = exchange?.response.body;
  return isJsonObject(body) ? (body.data ?? null) : null;
}

/** Returns the list of keys, else each key used or requested, in the order of registration if it shows. */
function snapshotsIn(before: readonly Exchange[], used: readonly string[]): readonly JsonObject[] {
  const list = dataOf(before.find((each) => each.operation === 'listUsers' && isRead(each)));
  const single = before.filter((each) => each.operation === 'getUser' && isRead(each)).map(dataOf);
  const bare = used.map((accessKey) => ({ access_key: accessKey }));
  const found = (Array.isArray(list) ? list : [...bare, ...single]).filter(isJsonObject);
  return [...new Map(found.map((each) => [each.access_key, each])).values()];
}

/**
 * Returns a file that was read after the session had changed keys, with the keys from before: as they were listed, and
 * without those that the session made.
 */
function withKeysBefore(
  config: JsonObject,
  exchanges: readonly Exchange[],
  snapshots: readonly JsonObject[],
): JsonObject {
  const readAt = exchanges.findIndex((each) => each.operation === 'getConfig' && isRead(each));
  if (untilChange(exchanges, KEY_CHANGES).length > readAt) return config;
  const { access_keys: list } = config;
  if (!Array.isArray(list)) return config;
  const made = new Set(exchanges.slice(0, readAt).flatMap(keysMade));
  const listed = new Map(snapshots.map((each) => [each.access_key, each]));
  const present = list.flatMap((element) => {
    const [key] = keyOf(element);
    const before = key === undefined ? undefined : listed.get(key.accessKey);
    if (before !== undefined) return elementsOf(before);
    return key !== undefined && made.has(key.accessKey) ? [] : [element];
  });
  const inFile = new Set(list.flatMap(keyOf).map(({ accessKey }) => accessKey));
  const removed = snapshots.filter(({ access_key }) => typeof access_key === 'string' && !inFile.has(access_key));
  return { ...config, access_keys: [...present, ...removed.flatMap(elementsOf)] };
}

/** Lists the keys in successful requests, such as those of subscriptions, without those that the session made. */
export function keysUsed(exchanges: readonly Exchange[]): readonly string[] {
  const made = new Set(exchanges.flatMap(keysMade));
  const named = exchanges.filter(isRead).map(({ request }) => matchRequest(request)?.keySegment ?? null);
  return named.flatMap((segment) => (segment === null ? [] : [decoded(segment)])).filter((key) => !made.has(key));
}

function keysMade(exchange: Exchange): readonly string[] {
  const operation = matchRequest(exchange.request)?.operation;
  if (!isRead(exchange) || operation === undefined || !makesKeys(operation)) return [];
  return keysNamed(dataOf(exchange));
}

function fileOf(snapshots: readonly JsonObject[], rules: JsonValue, dns: JsonValue): JsonObject {
  return {
    mode: 'server',
    access_keys: snapshots.flatMap(elementsOf),
    ...(Array.isArray(rules) && rules.length > 0 ? { outbound: { enabled: true, rules } } : {}),
    ...(isJsonObject(dns) ? { dns } : {}),
  };
}

/** Returns a snapshot as an element of a configuration's key list. */
function elementsOf(snapshot: JsonObject): readonly JsonValue[] {
  return keyOf(snapshot).map(elementOf);
}

function countersOf(snapshot: JsonObject): CounterState {
  const { access_key: key } = snapshot;
  return { access_key: typeof key === 'string' ? key : '', ...trafficOf(snapshot) };
}
