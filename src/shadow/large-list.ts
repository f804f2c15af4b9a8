import { type Answer, isSuccess } from '../client/call.js';
import { matchOperation } from '../replay/format/effects.js';
import { dataIn, isJsonObject, type JsonObject, type JsonValue, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import { type OperationName, operationNamed } from '../wire/operations.js';
import { askShadow, type NotCompared } from './ask-shadow.js';
import { KeyReader, type Keys, keysIn } from './asked-server.js';
import type { Judge, ShadowDifference } from './judge.js';
import { type DifferingKey, differencesOf } from './key-sync.js';
import { answerOf, linesOf, type Pair } from './pair.js';
import type { Passed } from './traffic.js';

/** Elements that are held together member by member, and the bytes of the shadow's list among which they are. */
const SAMPLED = 20;
const HEAD = 64 * 1024;
/** The most keys whose differences are told. */
const TOLD = 20;
/** Ends of objects at which what is cut off may be whole. */
const TRIES = 20;

const NOTHING = Buffer.alloc(0);

interface ComparedLists {
  readonly differences: readonly ShadowDifference[];
  readonly differing: ReadonlyMap<string, DifferingKey>;
}

/** Compares lists that are too large for trees: a few elements member by member, all others by name and limit. */
export async function compareLists(
  passed: Passed,
  pair: Pair,
  judge: Judge,
  unclear: ReadonlySet<string>,
): Promise<ComparedLists | NotCompared> {
  const target = answerOf(passed);
  const known = pair.shadow.isOurs ? await pair.shadow.server.keys() : undefined;
  const wanted = await keysIn(target.body, pair.target.found.revision, known);
  const list = await (pair.shadow.isOurs ? listOfCore(passed, pair, wanted) : listOfServer(passed, pair, wanted));
  if ('why' in list) return list;
  const { answer, keys } = list;
  const judged = (one: Buffer, other: Buffer) =>
    judge.differences({
      operation: operationNamed('listUsers'),
      method: 'GET',
      path: '/users',
      target: { ...target, body: one },
      again: null,
      shadow: answer === null ? null : { ...answer, body: other },
      unclear,
    });
  if (keys === null) return { differences: judged(listOf([]), answer?.body ?? NOTHING), differing: new Map() };
  const sample = list.elements.flatMap((other) => {
    const one = elementOf(target.body, other.access_key);
    return one === null ? [] : [{ one, other }];
  });
  const all = differencesOf(wanted, keys, linesOf(pair));
  const differing = new Map([...all].filter(([key]) => !unclear.has(key)));
  const ofSample = judged(listOf(sample.map(({ one }) => one)), listOf(sample.map(({ other }) => other)));
  const ofKeys = [...differing.values()].slice(0, TOLD).map(differenceOf);
  return { differences: [...ofSample, ...ofKeys], differing };
}

/** The shadow's list. */
interface ShadowList {
  /** Null where it ends half-way; its body is there where it is no list. */
  readonly answer: Answer | null;
  readonly elements: readonly JsonObject[];
  /** Null where it is no list. */
  readonly keys: Keys | null;
}

async function listOfServer(passed: Passed, pair: Pair, wanted: Keys): Promise<ShadowList | NotCompared> {
  const reader = new KeyReader(pair.shadow.server.found.revision, wanted);
  let head = NOTHING;
  const take = (piece: Buffer) => {
    if (head.length < HEAD) head = Buffer.concat([head, piece.subarray(0, HEAD - head.length)]);
    return reader.take(piece);
  };
  const answer = await askShadow(passed, pair, matchOperation('GET', '/users'), take);
  if (answer === null) return { answer, elements: [], keys: null };
  if ('why' in answer) return answer;
  const keys = isSuccess(answer.status) ? await reader.end().catch(() => null) : null;
  const body = isSuccess(answer.status) ? head : answer.body;
  return { answer: { ...answer, body }, elements: firstElements(head), keys };
}

/** An embedded core is asked for a few keys alone: it would keep the memory of a list. */
async function listOfCore(passed: Passed, pair: Pair, wanted: Keys): Promise<ShadowList | NotCompared> {
  const { server } = pair.shadow;
  const elements: JsonObject[] = [];
  let first: Answer | null = null;
  for (const key of [...wanted.keys()].slice(0, SAMPLED)) {
    const path = `/users/${encodeURIComponent(key)}`;
    const asked = { ...passed, path: pair.target.found.target.apiRoot + path };
    const answer = await askShadow(asked, pair, matchOperation('GET', path));
    if (answer === null || 'why' in answer) return answer ?? { answer, elements, keys: null };
    if (answer.status === 401 || answer.status === 403) return { answer, elements, keys: null };
    const element = dataIn(answer.body);
    if (isSuccess(answer.status) && isJsonObject(element)) elements.push(element);
    if (isSuccess(answer.status)) first ??= answer;
  }
  return { answer: first, elements, keys: first === null ? null : await server.keys(wanted) };
}

function listOf(data: JsonValue[]): Buffer {
  return Buffer.from(writeJson({ ok: true, data }));
}

/** Reads the first elements of a list that is cut off. */
function firstElements(head: Buffer): readonly JsonObject[] {
  const text = head.toString('utf8');
  let end = text.length;
  for (let tries = 0; tries < TRIES && end > 0; tries += 1) {
    end = text.lastIndexOf('}', end - 1);
    const data = dataIn(Buffer.from(`${text.slice(0, end + 1)}]}`));
    if (Array.isArray(data)) return data.filter(isJsonObject).slice(0, SAMPLED);
  }
  return [];
}

/** Reads the element of a key out of a list; null where it is not found. */
function elementOf(list: Buffer, key: JsonValue | undefined): JsonObject | null {
  const at = typeof key === 'string' ? list.indexOf(`"access_key":${writeJson(key)}`) : -1;
  const start = at < 0 ? -1 : list.lastIndexOf('{', at);
  let end = at;
  for (let tries = 0; tries < TRIES && start >= 0; tries += 1) {
    end = list.indexOf('}', end + 1);
    const element = end < 0 ? undefined : jsonIn(list.subarray(start, end + 1));
    if (isJsonObject(element)) return element;
  }
  return null;
}

function differenceOf({ wanted, present }: DifferingKey): ShadowDifference {
  const place = { step: 1, operation: 'listUsers' satisfies OperationName, kind: 'new', explainedBy: null } as const;
  if (wanted === null || present === null) {
    const [expected, actual] = [wanted !== null, present !== null];
    return { ...place, because: null, kind: actual ? 'new' : 'gone', where: 'body /data/*', expected, actual };
  }
  const [where, expected, actual] =
    wanted.limitBytes === present.limitBytes
      ? ['body /data/*/name', wanted.name, present.name]
      : ['body /data/*/limit_bytes', wanted.limitBytes, present.limitBytes];
  return { ...place, because: null, where, expected, actual };
}
