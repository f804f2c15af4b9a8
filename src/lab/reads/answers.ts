import { DomainError } from '../../core/errors.js';
import { decodeError, encodeError } from '../../wire/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import { accessOf, type Operation, type OperationName, operationsOf } from '../../wire/operations.js';
import { sameJson } from '../format/json-difference.js';
import { shapeDifferences } from './answer-shape.js';
import type { Seen } from './look.js';
import {
  type At,
  answersAs,
  dataOf,
  differing,
  envelopeDifferences,
  type Found,
  failureDifferences,
  NEEDS_CREDENTIAL,
  NO_KEY,
  pathOf,
  type ReadDifference,
  readOperation,
  snapshots,
  UNKNOWN_KEY,
} from './looking.js';

/** The number of keys that are requested one by one, whatever they are. */
const SINGLE_KEYS = 3;

/** Kinds of keys of which one each is also requested, because some servers are wrong only about those. */
const TELLING_KEYS: readonly ((key: string, snapshot: JsonObject) => boolean)[] = [
  (key) => key.includes('/'),
  (key) => key.includes(' '),
  (key) => encodeURIComponent(key) !== key && !/[/ ]/.test(key),
  (_, { limit_bytes }) => typeof limit_bytes === 'bigint' && limit_bytes > Number.MAX_SAFE_INTEGER,
  (_, { name }) => typeof name === 'string',
  (_, { bytes_down }) => isAbove(bytes_down),
];

/** Checks the answers of one read operation, for existing and for unknown keys. */
export async function lookAtOperation(operation: Operation, at: At): Promise<Found> {
  const passing = await at.look.passing(at.api);
  if (passing === undefined && accessOf(operation, at.revision) === 'protected') return { unseen: NEEDS_CREDENTIAL };
  // An operation that is not served at all is reported once.
  if (!(await answersAs(operation, at))) return { unseen: 'it is not served there' };
  if (!operation.path.includes('{key}')) return lookAtPlain(operation, at);
  const listed = keysAskedFor(operation, await snapshots(at), at);
  const unknown = await unknownKeyDifferences(operation, at);
  if (listed.length === 0) return unknown.length > 0 ? unknown : { unseen: NO_KEY };
  const request = `${operation.method} ${operation.path}`;
  const singles: Single[] = [];
  for (const snapshot of listed)
    singles.push({ listed: snapshot, seen: await readOperation(operation, at, { key: String(snapshot.access_key) }) });
  const found = [
    ...singles.flatMap(({ seen }) => answerDifferences(operation, at, request, seen)),
    ...(await differencesFromList(operation, singles, at, request)),
  ];
  return [...unknown, ...found.filter((each, index) => found.findIndex(({ where }) => where === each.where) === index)];
}

/** A key as listed, and its own answer. */
interface Single {
  readonly listed: JsonObject;
  readonly seen: Seen;
}

/** Returns snapshots of the keys to request: the first ones, and one of each kind that is often wrong. */
function keysAskedFor(operation: Operation, list: readonly JsonObject[], at: At): readonly JsonObject[] {
  const literal = new Set(operationsOf(at.revision).map((each) => pathOf(each, at)));
  const addressed = list.filter(({ access_key: key }) => {
    return typeof key === 'string' && key !== '' && !literal.has(pathOf(operation, at, key));
  });
  const telling = TELLING_KEYS.map((tells) => addressed.find((each) => tells(String(each.access_key), each)));
  const known = telling.filter((each) => each !== undefined);
  return [...new Set([...addressed.slice(0, SINGLE_KEYS), ...known])];
}

/**
 * Milliseconds before a key that differs from its list is read again, and before the next list, because lists may be
 * this old.
 */
const LIST_AGE = 1_000;
const SINGLE_LOOKS = 3;

/**
 * Checks that a listed key exists and shows what the list does, wherever the lists before and after agree about it.
 * Counters of used keys keep changing, and a list may be older than the key that is read after it, so differences are
 * read again.
 */
async function differencesFromList(
  operation: Operation,
  singles: readonly Single[],
  at: At,
  request: string,
): Promise<readonly ReadDifference[]> {
  let asked = singles;
  let after = await listedNow(at, 'after single keys');
  let found = asked.flatMap((each) => unlikeList(operation, each, after, request));
  for (let look = 2; look <= SINGLE_LOOKS && found.length > 0; look += 1) {
    const turn = `single keys ${look}`;
    await at.look.pauseBefore(turn, LIST_AGE);
    const next: Single[] = [];
    for (const {
      listed: { access_key: key },
    } of asked) {
      const listed = after.get(key);
      if (listed !== undefined)
        next.push({ listed, seen: await readOperation(operation, at, { key: String(key), turn }) });
    }
    asked = next;
    await at.look.pauseBefore(`after ${turn}`, LIST_AGE);
    after = await listedNow(at, `after ${turn}`);
    found = asked.flatMap((each) => unlikeList(operation, each, after, request));
  }
  return found;
}

async function listedNow(at: At, turn: string): Promise<ReadonlyMap<JsonValue | undefined, JsonObject>> {
  return new Map((await snapshots(at, turn)).map((each) => [each.access_key, each]));
}

function unlikeList(
  operation: Operation,
  { listed, seen: { answer, envelope } }: Single,
  after: ReadonlyMap<JsonValue | undefined, JsonObject>,
  request: string,
): readonly ReadDifference[] {
  if (!sameJson(listed, after.get(listed.access_key))) return [];
  const { data } = envelope ?? {};
  if (answer.status !== 200) return differing(request, 'status, of a listed key', 200n, BigInt(answer.status));
  if (operation.name !== 'getUser' || !isJsonObject(data)) return [];
  return Object.entries(listed).flatMap(([member, value]) =>
    sameJson(value, data[member])
      ? []
      : [{ request, where: `body /data/${member}, as in the list`, expected: value, actual: data[member] }],
  );
}

async function lookAtPlain(operation: Operation, at: At): Promise<readonly ReadDifference[]> {
  const shown = `${operation.method} ${operation.path}`;
  const seen = await readOperation(operation, at);
  const found = answerDifferences(operation, at, shown, seen);
  const order = ORDERS[operation.name];
  if (order !== undefined && Array.isArray(seen.envelope?.data)) found.push(...order(seen.envelope.data, shown));
  return operation.name === 'getStatus' ? [...found, ...(await countDifferences(at, shown))] : found;
}

/** Checks status, content type, envelope and data of an answer, unless it is a failure of the operation's own. */
export function answerDifferences(
  operation: Operation,
  { revision }: Pick<At, 'revision'>,
  request: string,
  seen: Seen,
): ReadDifference[] {
  const { answer, envelope } = seen;
  const error = envelope?.error ?? null;
  if (answer.status !== 200 && error !== null) {
    const failure = decodeError(revision.errors, operation, { status: answer.status, text: error });
    if (failure !== null && operation.failures.some((name) => revision.errors[name].code === failure.code)) return [];
  }
  if (answer.status !== 200) return [{ request, where: 'status', expected: 200n, actual: BigInt(answer.status) }];
  const additional = Object.keys(operation.beside?.(revision) ?? {});
  const found = envelopeDifferences(request, seen, revision, additional);
  if (envelope?.data === undefined || !envelope.ok)
    return [...found, { request, where: 'body', expected: 'an envelope with data', actual: 'another body' }];
  const shape = shapeDifferences(operation.answer(revision), envelope.data, '/data');
  return [...found, ...oncePerPlace(shape.map((each) => ({ ...each, request, where: `body ${each.path}` })))];
}

const INDEX = /\/\d+(?=\/|$)/g;

/** Keeps one difference for each place, because the elements of a list usually differ in the same way. */
function oncePerPlace(found: readonly (ReadDifference & { readonly path: string })[]): readonly ReadDifference[] {
  const places = new Map<string, ReadDifference>();
  for (const { path: _, ...each } of found) {
    const where = each.where.replaceAll(INDEX, '/*');
    if (!places.has(where)) places.set(where, { ...each, where });
  }
  return [...places.values()];
}

async function unknownKeyDifferences(operation: Operation, at: At): Promise<readonly ReadDifference[]> {
  const wanted = encodeError(at.revision.errors, operation, new DomainError('userNotFound'));
  const request = `${operation.method} ${operation.path.replace('{key}', UNKNOWN_KEY)}`;
  return failureDifferences(request, wanted, await readOperation(operation, at), at.revision);
}

/** The orders and limits that the protocol defines for lists. */
const ORDERS: Partial<
  Readonly<Record<OperationName, (list: readonly JsonValue[], request: string) => ReadDifference[]>>
> = {
  listAudit: (list, request) => repeatedIds(list, request),
  listUsers: (list, request) => orderDifferences(list, request, 'bytes_down', (before, after) => before >= after),
  listDnsQueries: (list, request) => orderDifferences(list, request, 'timestamp', (before, after) => before <= after),
};

function repeatedIds(list: readonly JsonValue[], request: string): ReadDifference[] {
  const ids = new Set(list.map((each) => (isJsonObject(each) ? each.id : each)));
  return differing(request, 'body /data, ids that differ', BigInt(list.length), BigInt(ids.size));
}

function orderDifferences(
  list: readonly JsonValue[],
  request: string,
  member: string,
  isRight: (before: bigint, after: bigint) => boolean,
): ReadDifference[] {
  const values = list.filter(isJsonObject).map((each) => each[member]);
  const at = values.findIndex((value, index) => {
    const before = values[index - 1];
    return typeof before === 'bigint' && typeof value === 'bigint' && !isRight(before, value);
  });
  if (at < 0) return [];
  return [
    { request, where: `body /data/${at}/${member}`, expected: `in order after ${values[at - 1]}`, actual: values[at] },
  ];
}

/** The number of times that counts are compared with a list that does not change meanwhile. */
const COUNT_LOOKS = 3;

/** Compares the counts of the status with the list, as far as two lists around it agree. */
async function countDifferences(at: At, request: string): Promise<readonly ReadDifference[]> {
  let before = await snapshots(at);
  let found: readonly ReadDifference[] = [];
  for (let look = 1; look <= COUNT_LOOKS; look += 1) {
    const turn = `counts ${look}`;
    const status = await dataOf('getStatus', at, { turn });
    const after = await snapshots(at, turn);
    const isStill = sameJson([...before], [...after]);
    found = isStill ? countsUnlike(status, after, request) : [];
    if (isStill && found.length === 0) return [];
    before = after;
  }
  return found;
}

function countsUnlike(
  status: JsonValue | undefined,
  list: readonly JsonObject[],
  request: string,
): readonly ReadDifference[] {
  const counts = {
    total_users: list.length,
    active_users: list.filter(({ bytes_up, bytes_down }) => isAbove(bytes_up) || isAbove(bytes_down)).length,
  };
  return Object.entries(counts).flatMap(([member, count]) => {
    const told = isJsonObject(status) ? status[member] : undefined;
    return typeof told === 'bigint' ? differing(request, `body /data/${member}`, BigInt(count), told) : [];
  });
}

function isAbove(value: JsonValue | undefined): boolean {
  return typeof value === 'bigint' && value > 0n;
}
