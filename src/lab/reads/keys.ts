import type { TrafficCounters } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../wire/json/json.js';
import { encodeJson } from '../../wire/json/write-json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { trafficOf } from '../format/given-state.js';
import { jsonDifferences } from '../format/json-difference.js';
import { type At, dataOf, type Found, NEEDS_CREDENTIAL, NO_KEY, type ReadDifference, snapshots } from './looking.js';

/** Compares `online` with the counters: a key with traffic has some, one with zeros may have some or none. */
export async function lookAtOnline(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  const list = await snapshots(at);
  if (list.length === 0) return { unseen: NO_KEY };
  const { online } = at.revision;
  let isTold = false;
  const differences = new Map<string, ReadDifference>();
  for (const each of list) {
    const counters = countersOf(each);
    const isIdle = counters.bytesUp + counters.bytesDown + counters.connections === 0n;
    const possible = new Set([online.isOnline(counters), ...(isIdle ? [online.isOnline(null)] : [])]);
    isTold ||= possible.size === 1;
    if (typeof each.online !== 'boolean' || possible.has(each.online)) continue;
    const request = `GET /users, a key with ${counters.connections} connections and ${isIdle ? 'no ' : ''}traffic`;
    differences.set(request, { request, where: 'body /data/*/online', expected: !each.online, actual: each.online });
  }
  return differences.size > 0 || isTold ? [...differences.values()] : { unseen: 'no key has traffic' };
}

function countersOf(snapshot: JsonObject): TrafficCounters {
  const { bytes_up: bytesUp, bytes_down: bytesDown, connections } = trafficOf(snapshot);
  return { bytesUp, bytesDown, connections, limitBytes: null, createdAt: 0 };
}

/** Asks for the link over UDP, because links over TLS do not differ between lines; lines without TLS ignore it. */
export const OVER_UDP = '?transport=udp';

/** Checks share links by the revision's query, and the client configuration. */
export async function lookAtShareLink(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  const first = (await snapshots(at)).find(({ access_key: key }) => key !== '');
  if (first === undefined) return { unseen: NO_KEY };
  const key = String(first.access_key);
  const link = await dataOf('subscribe', at, { key, query: OVER_UDP, accept: 'text/plain' });
  const config = await dataOf('subscribe', at, { key, query: OVER_UDP });
  const address = isJsonObject(config) && typeof config.server === 'string' ? config.server : '';
  const request = 'GET /subscribe/{key}';
  const exact = jsonDifferences(exactConfig(at.revision, key, address), config ?? null, {
    unordered: [],
    bindings: new Map(),
  });
  const differences = exact.map(({ path: at, ...each }) => ({ ...each, request, where: `body /data${at}` }));
  return [...differences, ...(await linkDifferences(at, link, `://${at.revision.subscribe.spell(key)}@${address}`))];
}

/** Returns the client configuration object of a key for the address that the server announces. */
function exactConfig({ subscribe }: Revision, accessKey: string, address: string): JsonValue {
  return parseJson(Buffer.from(encodeJson(subscribe.config(accessKey, address))));
}

async function linkDifferences(
  at: At,
  link: JsonValue | undefined,
  middle: string,
): Promise<readonly ReadDifference[]> {
  const request = 'GET /subscribe/{key}, Accept: text/plain';
  const from = typeof link === 'string' ? link.indexOf(middle) : -1;
  if (typeof link !== 'string' || from < 0)
    return [{ request, where: 'body /data', expected: 'SCHEME://KEY@HOST:PORT QUERY', actual: link }];
  const query = link.slice(from + middle.length);
  const dns = await dnsEnabled(at);
  const { shareQuery } = at.revision;
  return dns.some((enabled) => configuredPart(query, at.revision, enabled) !== null)
    ? []
    : [{ request, where: 'body /data, its query', expected: `<${shareQuery.name}>`, actual: query }];
}

/** Returns a link's query without what the revision adds for DNS; null if it cannot have made the query. */
export function configuredPart(query: string, { shareQuery }: Revision, dnsEnabled: boolean): string | null {
  const beginnings = Array.from({ length: query.length + 1 }, (_, end) => query.slice(0, end));
  return beginnings.findLast((each) => shareQuery.query(each, dnsEnabled) === query) ?? null;
}

/** Returns the possible states of DNS by its own endpoint; the file only says what the next start brings. */
async function dnsEnabled(at: At): Promise<readonly boolean[]> {
  const settings = await dataOf('getDnsConfig', at);
  const enabled = isJsonObject(settings) ? settings.enabled : undefined;
  return typeof enabled === 'boolean' ? [enabled] : [true, false];
}
