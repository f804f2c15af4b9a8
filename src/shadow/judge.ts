import type { Answer } from '../client/call.js';
import { compareRuns, type Run, type RunDifference, type RunStep } from '../replay/compare/compare-runs.js';
import { type ChangeKind, changeOf } from '../replay/compare/line-changes.js';
import { generalPlace } from '../replay/compare/places.js';
import { coversPath } from '../replay/format/json-difference.js';
import type { Exchange } from '../replay/format/scenario.js';
import { isJsonObject, type JsonValue, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import { type Operation, type OperationName, serves } from '../wire/operations.js';
import { pointerSteps, type SchemaNode } from '../wire/schema-check.js';
import type { Recorded } from '../wire/schemas.js';
import type { Revision } from '../wire/traits/revision.js';
import { idOf, STANDING, STANDING_INBOUND } from './asked-server.js';
import type { OldEntries } from './pair.js';

/** A place of an answer that is known to differ, and why. `operation` and the segments of `where` may be `*`. */
export interface ExpectedDifference {
  readonly operation: string;
  readonly where: string;
  readonly reason: string;
}

/** One place where the two servers answer differently. */
export interface ShadowDifference extends RunDifference {
  readonly kind: ChangeKind;
  /** The difference of the two lines, or the reason that the register gives; null where nothing explains it. */
  readonly because: string | null;
  readonly explainedBy: 'lines' | 'register' | null;
}

/** One request, answered by both. */
export interface AnsweredTwice {
  /** Null for a request that is no operation. */
  readonly operation: Operation | null;
  readonly method: string;
  /** Below the API root. */
  readonly path: string;
  readonly target: Answer;
  /** Two more answers of the target to the same read, one right after the other; null for none. */
  readonly again: readonly [Answer, Answer] | null;
  /** Null where there was none. */
  readonly shadow: Answer | null;
  /** Keys of which the two servers may rightly say different things. */
  readonly unclear: ReadonlySet<string>;
}

export interface JudgeOptions {
  /** The lines of the target and of the shadow, and where each has its panel. */
  readonly from: Revision;
  readonly to: Revision;
  readonly bases: { readonly target: string; readonly shadow: string };
  readonly oldEntries: OldEntries;
  readonly expected: readonly ExpectedDifference[];
}

/** Values that no two servers share, or that no shadow has: by the marks of the schema, and what traffic makes. */
const OWN: ReadonlySet<Recorded> = new Set(['session', 'audit-id', 'version', 'uptime', 'time'] as const);
const COUNTED = new Set([
  ...['bytes_up', 'bytes_down', 'connections', 'online', 'last_seen', 'active_users', 'sessions', 'used_bytes'],
  ...['online_users', 'total_bytes_up', 'total_bytes_down', 'upload', 'download'],
]);

/** Places that say where and as whom a server stands: that they are there, and of which type, is held together. */
const OF_ANSWERS = ['server', 'endpoint', 'links', 'host'];
const STANDS = new RegExp(`^/data/(?:${[...STANDING, ...OF_ANSWERS].join('|')})(?:/|$)`);
const INBOUND_STANDS = new RegExp(`^/data/inbounds/[^/]+/(?:${STANDING_INBOUND.join('|')})$`);

/** Times that a place has to differ between two reads of the target before it counts as noise, and the share of all of them. */
const NOISE = 2;
const NOISE_SHARE = 0.5;

/** Operations that tell what traffic has left behind: a shadow has had none. */
const OF_TRAFFIC = new Set<OperationName>(['listDnsQueries', 'getDnsLog', 'getDnsStats']);

/** Traits that decide which members an answer has: another value of a member that both have is nothing of theirs. */
const FORMS = /^(?:snapshot|dns|rules|audit): /;

/** Holds answers together, and says of what differs what it comes from. */
export class Judge {
  readonly #options: JudgeOptions;
  /** Operations that were asked twice, and the places that differed, with how often. */
  readonly #askedAgain = new Map<string, number>();
  readonly #noise = new Map<string, number>();

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** Lists what differs and is no matter of course. */
  differences(pair: AnsweredTwice): readonly ShadowDifference[] {
    const { from, to, bases } = this.#options;
    if (pair.again !== null) this.#learn(pair, pair.again);
    const [target, shadow] = this.#comparable(pair);
    const one = { ...runOf(pair, target, bases.target), foreign: pair.unclear };
    const other = { ...runOf(pair, shadow, bases.shadow), foreign: pair.unclear };
    const found = compareRuns(one, other, null, { left: from, right: to }).differences;
    const places = new Set(found.map(({ where }) => where));
    return found
      .filter((each) => !this.#isNoise(each) && !isOwn(each, pair, from) && !isSpelling(each, places))
      .map((each) => ({ ...each, ...this.#explained(each, from, to) }));
  }

  /** Returns both answers without what only one of the servers can know of. */
  #comparable(pair: AnsweredTwice): readonly [Answer, Answer | null] {
    const { target, shadow, operation } = pair;
    const { oldEntries } = this.#options;
    if (shadow === null) return [target, null];
    if (isOfTraffic(pair)) return levelled(target, shadow);
    if (operation?.name !== 'listAudit') return [target, shadow];
    return [withoutEntries(target, oldEntries.target), withoutEntries(shadow, oldEntries.shadow)];
  }

  #learn(pair: AnsweredTwice, [first, second]: readonly [Answer, Answer]): void {
    const { from, bases } = this.#options;
    const one = runOf(pair, first, bases.target);
    const { differences } = compareRuns(one, runOf(pair, second, bases.target), null, { left: from, right: from });
    count(this.#askedAgain, pair.operation?.name ?? '');
    for (const each of new Set(differences.map(placeOf))) count(this.#noise, each);
  }

  /** A difference that a write between the two reads made is seldom seen twice. */
  #isNoise(difference: RunDifference): boolean {
    const times = this.#noise.get(placeOf(difference)) ?? 0;
    return times >= NOISE && times >= NOISE_SHARE * (this.#askedAgain.get(difference.operation) ?? 0);
  }

  #explained(difference: RunDifference, from: Revision, to: Revision): Explanation {
    const { kind, because } = changeOf(difference, from, to);
    const registered = this.#options.expected.find(
      ({ operation, where }) =>
        (operation === '*' || operation === difference.operation) && coversPath(where, generalPlace(difference.where)),
    );
    if (registered !== undefined) return { kind, because: registered.reason, explainedBy: 'register' };
    const isOfForm = because !== null && FORMS.test(because) && difference.where.startsWith('body ');
    const isPresence = difference.expected === undefined || difference.actual === undefined;
    if (because === null || (isOfForm && !isPresence)) return { kind, because: null, explainedBy: null };
    return { kind, because, explainedBy: 'lines' };
  }
}

type Explanation = Pick<ShadowDifference, 'kind' | 'because' | 'explainedBy'>;

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function runOf(pair: AnsweredTwice, answer: Answer | null, base: string): Run {
  return { steps: [stepOf(pair, answer)], bindings: new Map(), base };
}

function isOfTraffic({ operation }: AnsweredTwice): boolean {
  return operation !== null && OF_TRAFFIC.has(operation.name);
}

/** Cuts the lists of two answers to the same length. */
function levelled(one: Answer, other: Answer): readonly [Answer, Answer] {
  const [left, right] = [jsonIn(one.body), jsonIn(other.body)];
  if (left === undefined || right === undefined) return [one, other];
  return [withBody(one, cutTo(left, right)), withBody(other, cutTo(right, left))];
}

function withBody(answer: Answer, value: JsonValue): Answer {
  return { ...answer, body: Buffer.from(writeJson(value)) };
}

function withoutEntries(answer: Answer, ids: ReadonlySet<string>): Answer {
  const value = jsonIn(answer.body);
  if (!isJsonObject(value) || !Array.isArray(value.data)) return answer;
  return withBody(answer, { ...value, data: value.data.filter((entry) => !idOf(entry).some((id) => ids.has(id))) });
}

function cutTo(value: JsonValue, other: JsonValue | undefined): JsonValue {
  if (Array.isArray(value) && Array.isArray(other))
    return value.slice(0, other.length).map((each, index) => cutTo(each, other[index]));
  if (!isJsonObject(value) || !isJsonObject(other)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cutTo(each, other[name])]));
}

function stepOf({ operation, method, path, target }: AnsweredTwice, answer: Answer | null): RunStep {
  const exchange: Exchange = {
    operation: operation?.name ?? (method === 'OPTIONS' ? 'cors' : 'unmatched'),
    request: { method, path },
    response: { status: target.status },
  };
  return { step: 1, exchange, answer };
}

function placeOf({ operation, where }: RunDifference): string {
  return `${operation} ${generalPlace(where)}`;
}

/** Tells whether a difference is a matter of course: each server has its own time, sessions, traffic and address. */
function isOwn(difference: RunDifference, pair: AnsweredTwice, from: Revision): boolean {
  const { where, expected, actual } = difference;
  const { operation } = pair;
  if (where === 'header location') return true;
  if (isDrawing(expected) && isDrawing(actual)) return true;
  if (isLink(expected) && isLink(actual)) return withoutAddress(expected) === withoutAddress(actual);
  if (!where.startsWith('body ') || expected === undefined || actual === undefined) return false;
  const pointer = where.slice('body '.length);
  const isSameKind = kindOf(expected) === kindOf(actual);
  if (isOfTraffic(pair) && pointer.startsWith('/data/')) return isSameKind;
  const member = pointerSteps(pointer).at(-1) ?? '';
  if (COUNTED.has(member) && isCounting(operation)) return isSameKind || expected === null || actual === null;
  if (STANDS.test(pointer) || INBOUND_STANDS.test(generalPlace(pointer))) return isSameKind;
  const mark = operation !== null && serves(from, operation) ? markAt(operation.answer(from), pointer) : null;
  return mark !== null && OWN.has(mark) && isSameKind;
}

/** A key in a configuration's list, as a text or as an object that says the same. */
const KEY_ELEMENT = /\/(?:access_keys|users)\/\[[^/]*\]$/;
const KEY_MEMBER = '/access_key';

/** Tells whether both have the key, one of them as a text. */
function isSpelling({ where }: RunDifference, places: ReadonlySet<string>): boolean {
  if (KEY_ELEMENT.test(where)) return places.has(where + KEY_MEMBER);
  const element = where.slice(0, -KEY_MEMBER.length);
  return where.endsWith(KEY_MEMBER) && KEY_ELEMENT.test(element) && places.has(element);
}

/** Tells whether an operation answers what traffic makes. */
function isCounting(operation: Operation | null): boolean {
  return (
    operation !== null &&
    (operation.name === 'getStatus' || operation.subject === 'keys') &&
    operation.name !== 'subscribe'
  );
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'bigint' : typeof value;
}

/** The same code may be drawn in many ways. */
function isDrawing(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && /^\s*<(?:\?xml|svg)\b/.test(value);
}

function isLink(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && /^[a-z][a-z0-9+.-]*:\/\/[^@]*@/.test(value);
}

/** A share link without host, port and the name that a server gives itself. */
function withoutAddress(link: string): string {
  return link.replace(/@[^/?#]*/, '@').replace(/([?&])name=[^&#]*/, '$1');
}

/** The mark that the schema of an answer's data has at a place; null for none. */
function markAt(data: SchemaNode, pointer: string): Recorded | null {
  let nodes: readonly SchemaNode[] = [data];
  for (const step of pointerSteps(pointer).slice(1)) {
    const isElement = /^(?:\d+|\[.*\])$/.test(step);
    nodes = nodes
      .flatMap((node): readonly SchemaNode[] => node.anyOf ?? [node])
      .flatMap(({ items, properties }) => (isElement ? (items ?? []) : (properties?.[step] ?? [])));
  }
  const marked = nodes.flatMap((node): readonly SchemaNode[] => node.anyOf ?? [node]);
  return marked.find(({ recorded }) => recorded !== undefined)?.recorded ?? null;
}
