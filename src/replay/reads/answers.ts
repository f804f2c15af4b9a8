import { DomainError } from '../../core/errors.js';
import { JSON_TYPE } from '../../wire/envelope.js';
import { decodeError, encodeError } from '../../wire/errors.js';
import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Operation, OperationName } from '../../wire/operations.js';
import { shapeDifferences } from './answer-shape.js';
import type { Seen } from './look.js';
import {
  type At,
  answersAs,
  differing,
  type Found,
  NEEDS_CREDENTIAL,
  NO_KEY,
  pathOf,
  type ReadDifference,
  readWith,
  snapshots,
  UNKNOWN_KEY,
} from './looking.js';

/** How many keys are asked for one by one. */
const SINGLE_KEYS = 3;

/** The answers of one read operation, on what is there and on what is not. */
export async function lookAtOperation(operation: Operation, at: At): Promise<Found> {
  const passing = await at.look.passing(at.api);
  if (passing === undefined && operation.access === 'protected') return { unseen: NEEDS_CREDENTIAL };
  // What is not served at all is told as that, once.
  if (!(await answersAs(operation, at))) return { unseen: 'it is not served there' };
  if (!operation.path.includes('{key}')) return lookAtPlain(operation, at);
  const keys = (await snapshots(at)).slice(0, SINGLE_KEYS).map(({ access_key: key }) => String(key));
  const unknown = await unknownKeyDifferences(operation, at);
  if (keys.length === 0) return unknown.length > 0 ? unknown : { unseen: NO_KEY };
  const found: ReadDifference[] = [...unknown];
  for (const key of keys) {
    const shown = `${operation.method} ${operation.path}`;
    const differences = answerDifferences(operation, at, shown, await readWith(at, pathOf(operation, at, key)));
    found.push(
      ...differences.filter(({ where }) => !found.some((each) => each.request === shown && each.where === where)),
    );
  }
  return found;
}

async function lookAtPlain(operation: Operation, at: At): Promise<readonly ReadDifference[]> {
  const shown = `${operation.method} ${operation.path}`;
  const path = pathOf(operation, at);
  // Open to everyone is looked at as anyone would.
  const asAnyone = { method: 'GET' as const, path, authorization: null };
  const seen = operation.access === 'open' ? await at.look.read(asAnyone) : await readWith(at, path);
  const found = answerDifferences(operation, at, shown, seen);
  const order = ORDERS[operation.name];
  if (order !== undefined && Array.isArray(seen.envelope?.data)) found.push(...order(seen.envelope.data, shown));
  return operation.name === 'getStatus' ? [...found, ...(await countDifferences(at, shown))] : found;
}

/** Status, content type, envelope and data of an answer; a failure of the operation's own is no difference. */
function answerDifferences(
  operation: Operation,
  at: At,
  request: string,
  { answer, envelope }: Seen,
): ReadDifference[] {
  const { revision } = at;
  const error = envelope?.error ?? null;
  if (answer.status !== 200 && error !== null) {
    const failure = decodeError(revision.errors, operation, { status: answer.status, text: error });
    if (failure !== null && operation.failures.some((name) => revision.errors[name].code === failure.code)) return [];
  }
  if (answer.status !== 200) return [{ request, where: 'status', expected: 200n, actual: BigInt(answer.status) }];
  const type = answer.headers.get('content-type');
  const found: ReadDifference[] = [];
  if (type !== JSON_TYPE) found.push({ request, where: 'header content-type', expected: JSON_TYPE, actual: type });
  if (envelope?.data === undefined || !envelope.ok)
    return [...found, { request, where: 'body', expected: 'an envelope with data', actual: 'another body' }];
  for (const name of envelope.others) found.push({ request, where: `body /${name}`, expected: undefined, actual: '' });
  const shape = shapeDifferences(operation.answer(revision), envelope.data, '/data');
  return [...found, ...oncePerPlace(shape.map((each) => ({ ...each, request, where: `body ${each.path}` })))];
}

const INDEX = /\/\d+(?=\/|$)/g;

/** The elements of a list differ in the same way: the first of them stands for all. */
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
  const { answer, envelope } = await readWith(at, pathOf(operation, at));
  const request = `${operation.method} ${operation.path.replace('{key}', UNKNOWN_KEY)}`;
  return [
    ...differing(request, 'status', BigInt(wanted.status), BigInt(answer.status)),
    ...differing(request, 'body /error', wanted.text, envelope?.error ?? undefined),
  ];
}

/** The orders that the protocol gives lists. */
const ORDERS: Partial<
  Readonly<Record<OperationName, (list: readonly JsonValue[], request: string) => ReadDifference[]>>
> = {
  listUsers: (list, request) => orderDifferences(list, request, 'bytes_down', (before, after) => before >= after),
  listDnsQueries: (list, request) => orderDifferences(list, request, 'timestamp', (before, after) => before <= after),
};

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

/** The counts of the status beside the list, as far as nothing changed between a status before and one after it. */
async function countDifferences(at: At, request: string): Promise<readonly ReadDifference[]> {
  const path = `${at.api}/server/status`;
  const before = (await readWith(at, path, {}, 1)).envelope?.data;
  const list = await snapshots(at);
  const after = (await readWith(at, path, {}, 2)).envelope?.data;
  const counts = {
    total_users: list.length,
    active_users: list.filter(({ bytes_up, bytes_down }) => isAbove(bytes_up) || isAbove(bytes_down)).length,
  };
  return Object.entries(counts).flatMap(([member, count]) => {
    const [first, last] = [before, after].map((each) => (isJsonObject(each) ? each[member] : undefined));
    return typeof first === 'bigint' && first === last
      ? differing(request, `body /data/${member}`, BigInt(count), first)
      : [];
  });
}

function isAbove(value: JsonValue | undefined): boolean {
  return typeof value === 'bigint' && value > 0n;
}
