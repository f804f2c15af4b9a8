import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json.js';
import { effectOf, operationPath } from './effects.js';
import type { CounterState, Exchange, Given } from './scenario.js';

/**
 * The state that a recorded session began in, as far as its answers tell: its configuration, keys and counters before its
 * first change. What no answer told is left out, so that a replay on an embedded core shows the difference.
 */
export function inferGiven(exchanges: readonly Exchange[]): Given {
  const change = exchanges.findIndex(({ request, response }) => {
    const effect = effectOf(request.method, operationPath(request));
    return response.status === 200 && effect !== 'reads' && effect !== 'login' && effect !== 'other';
  });
  const before = exchanges.slice(0, change < 0 ? undefined : change).filter(({ response }) => response.status === 200);
  const answer = (operation: string) => dataOf(before.find((each) => each.operation === operation));
  const snapshots = snapshotsIn(before);
  const known = answer('getConfig');
  const config = isJsonObject(known) ? known : fileOf(snapshots, answer('getRules'), answer('getDnsConfig'));
  const counters = snapshots.map(countersOf).filter((each) => each.bytes_up + each.bytes_down + each.connections > 0n);
  return { config, ...(counters.length === 0 ? {} : { counters }) };
}

function dataOf(exchange: Exchange | undefined): JsonValue {
  const body = exchange?.response.body;
  return body !== undefined && isJsonObject(body) ? (body.data ?? null) : null;
}

/** The list of keys, else each key that was asked for, in the order of their registration as far as it shows. */
function snapshotsIn(before: readonly Exchange[]): readonly JsonObject[] {
  const list = dataOf(before.find(({ operation }) => operation === 'listUsers'));
  const single = before.filter(({ operation }) => operation === 'getUser').map(dataOf);
  const found = (Array.isArray(list) ? list : single).filter(isJsonObject);
  return [...new Map(found.map((each) => [each.access_key, each])).values()];
}

function fileOf(snapshots: readonly JsonObject[], rules: JsonValue, dns: JsonValue): JsonObject {
  const keys = snapshots.map(({ access_key = '', name = null, limit_bytes = null }) => {
    if (name === null && limit_bytes === null) return access_key;
    return { access_key, ...(name === null ? {} : { name }), ...(limit_bytes === null ? {} : { limit_bytes }) };
  });
  return {
    mode: 'server',
    access_keys: keys,
    ...(Array.isArray(rules) && rules.length > 0 ? { outbound: { enabled: true, rules } } : {}),
    ...(isJsonObject(dns) ? { dns } : {}),
  };
}

function countersOf({ access_key, bytes_up, bytes_down, connections }: JsonObject): CounterState {
  const count = (value: JsonValue | undefined) => (typeof value === 'bigint' ? value : 0n);
  return {
    access_key: typeof access_key === 'string' ? access_key : '',
    bytes_up: count(bytes_up),
    bytes_down: count(bytes_down),
    connections: count(connections),
  };
}
