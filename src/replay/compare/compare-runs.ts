import type { Answer } from '../../client/call.js';
import { isJsonObject, type JsonValue, jsonIn } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type OperationName, serves } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { effectOf, matchRequest } from '../format/effects.js';
import { keyOf } from '../format/given-state.js';
import { type AnswerDifference, coversPath, pointerName, sameJson } from '../format/json-difference.js';
import type { Bindings } from '../format/placeholders.js';
import type { Exchange } from '../format/scenario.js';
import { isSecretMember } from '../format/strip.js';
import type { PlayedStep } from '../play/play.js';
import { isBelow } from '../record/describe.js';

/** One server's answer to one step of a scenario. */
export type RunStep = Pick<PlayedStep, 'step' | 'exchange' | 'answer'>;

/** One scenario played on one server. */
export interface Run {
  readonly steps: readonly RunStep[];
  /** The values of the placeholders there. */
  readonly bindings: Bindings;
  /** Keys that stood there and not on the other server: what it answers of them has nothing to stand beside. */
  readonly foreign?: ReadonlySet<string>;
  /** `{base}` there, which the other server may have elsewhere; left out where it is the same. */
  readonly base?: string;
}

/** One place where two servers answer differently; `operation` is one more, for what one revision does not serve. */
export interface RunDifference extends AnswerDifference {
  readonly step: number;
  /** The operation, or what the scenario calls a request that is none. */
  readonly operation: string;
}

/** The differences of two runs. */
export type RunComparison = ReturnType<typeof compareRuns>;

interface Sides {
  readonly left: Revision;
  readonly right: Revision;
}

/**
 * Compares what two servers answered. `again` is a second run of the left one, null for none: where it differs from the first
 * by itself (times, counts, generated values) nothing is reported. Once one server has accepted a change that the other refused,
 * they stand in different states: of what follows only operations that one of them does not have are reported.
 */
export function compareRuns(left: Run, right: Run, again: Run | null, sides: Sides) {
  const differences: RunDifference[] = [];
  let partedAt: number | null = null;
  const hasForeign = [left, right].some(({ foreign = NO_KEYS }) => foreign.size > 0);
  for (const [index, one] of left.steps.entries()) {
    const other = right.steps[index];
    if (other === undefined) break;
    const leftPlaces = placesOf(one, left);
    const rightPlaces = placesOf(other, right);
    const second = again?.steps[index];
    const noise =
      second === undefined ? new Set<string>() : differing(leftPlaces, placesOf(second, { ...left, ...again }));
    const operation = operationName(one.exchange);
    const found = [...differing(leftPlaces, rightPlaces)].filter((place) => {
      const said = `${operation} ${place.replaceAll(INDEX, '/*')}`;
      const areBothThere = leftPlaces.has(place) && rightPlaces.has(place);
      return !noise.has(place) && !(areBothThere && OF_ITS_OWN.has(said)) && !(hasForeign && COUNTS.has(said));
    });
    const described = describe(found, { one, operation, leftPlaces, rightPlaces, sides });
    differences.push(...described.filter(({ where }) => partedAt === null || where === OPERATION));
    if (isParting(one, other)) partedAt ??= one.step;
  }
  // `partedAt`: the first step after which the servers stand in different states, so that what follows cannot be compared; or null.
  return { differences, partedAt };
}

/** Stands as the place of a difference when one revision does not serve the operation. */
const OPERATION = 'operation';

/** A place in a list, by number or by key. */
const INDEX = /\/(?:\d+|\[[^/]*\])(?=\/|$)/g;

const NO_KEYS: ReadonlySet<string> = new Set();

/** Counts of keys, which say nothing where one server has others. */
const COUNTS = new Set(['getStatus body /data/active_users', 'getStatus body /data/total_users']);

/** Values that two servers never share, even where the left one happens to say one twice: version, age, time of day. */
const OF_ITS_OWN = new Set([
  'getStatus body /data/version',
  'getStatus body /data/uptime_seconds',
  'listAudit body /data/*/time',
]);

interface Described {
  readonly one: RunStep;
  readonly operation: string;
  readonly leftPlaces: Places;
  readonly rightPlaces: Places;
  readonly sides: Sides;
}

function describe(found: readonly string[], at: Described): readonly RunDifference[] {
  const { one, operation, leftPlaces, rightPlaces } = at;
  if (found.length === 0) return [];
  const differenceAt = (where: string): RunDifference => ({
    step: one.step,
    operation,
    where,
    expected: leftPlaces.get(where),
    actual: rightPlaces.get(where),
  });
  const served = servedDifference(at);
  if (served !== null) return [served];
  // With another status the rest of an answer says nothing of its own.
  return found.includes('status') ? [differenceAt('status')] : found.map(differenceAt);
}

/** One difference for an operation that one of the two revisions does not have, whatever it answers instead. */
function servedDifference({ one, operation, sides }: Described): RunDifference | null {
  const matched = matchRequest(one.exchange.request);
  if (matched === null) return null;
  const [left, right] = [serves(sides.left, matched.operation), serves(sides.right, matched.operation)];
  if (left === right) return null;
  const words = (isServed: boolean) => (isServed ? 'served' : 'not served');
  return { step: one.step, operation, where: OPERATION, expected: words(left), actual: words(right) };
}

function operationName(exchange: Exchange): OperationName | string {
  return matchRequest(exchange.request)?.operation.name ?? exchange.operation;
}

/** A session that only one of them began changes nothing but who is let in, which shows by itself. */
function isParting(one: RunStep, other: RunStep): boolean {
  const { request } = one.exchange;
  const effect = effectOf(request);
  if (matchRequest(request)?.operation.subject === 'session') return false;
  return effect.kind !== 'reads' && isAccepted(one.answer) !== isAccepted(other.answer);
}

function isAccepted(answer: Answer | null): boolean {
  return answer !== null && answer.status < 300;
}

/** Every place of an answer with its value. */
type Places = ReadonlyMap<string, JsonValue>;

const HEADERS = ['content-type', 'location', 'access-control-allow-origin'];

function placesOf({ exchange, answer }: RunStep, { bindings, foreign = NO_KEYS, base = '' }: Run): Places {
  const places = new Map<string, JsonValue>();
  if (answer === null) return places.set('connection', 'no answer');
  places.set('status', BigInt(answer.status));
  for (const name of HEADERS) {
    const value = answer.headers.get(name);
    if (value !== undefined)
      places.set(`header ${name}`, base !== '' && isBelow(value, base) ? `{base}${value.slice(base.length)}` : value);
  }
  const allow = answer.headers.get('allow');
  if (allow !== undefined)
    places.set(
      'header allow',
      allow
        .split(/\s*,\s*/)
        .sort()
        .join(', '),
    );
  const value = jsonIn(answer.body);
  const named = namer(bindings);
  if (value === undefined) {
    if (!isPage(answer)) places.set('text', named(answer.body.toString('utf8')));
  } else flatten(value, '', { places, named, foreign, unordered: exchange.response.unordered ?? [] });
  return places;
}

/** A server's own panel is no contract. */
function isPage({ headers }: Answer): boolean {
  return headers.get('content-type')?.startsWith('text/html') === true;
}

interface Flattening {
  readonly places: Map<string, JsonValue>;
  readonly foreign: ReadonlySet<string>;
  readonly named: (text: string) => string;
  readonly unordered: readonly string[];
}

function flatten(value: JsonValue, path: string, into: Flattening): void {
  if (Array.isArray(value)) {
    if (value.length === 0) into.places.set(`body ${path}`, []);
    const keyed = byKey(value, path);
    if (keyed !== null) {
      for (const [key, element] of keyed) {
        if (!into.foreign.has(key)) flatten(element, `${path}/[${pointerName(into.named(key))}]`, into);
      }
      return;
    }
    const isUnordered = into.unordered.some((pattern) => coversPath(pattern, path));
    const elements = isUnordered ? inOneOrder(value, into.named) : value;
    for (const [index, element] of elements.entries()) flatten(element, `${path}/${index}`, into);
  } else if (isJsonObject(value)) {
    if (Object.keys(value).length === 0) into.places.set(`body ${path}`, {});
    for (const [name, member] of Object.entries(value)) {
      const at = `${path}/${pointerName(into.named(name))}`;
      // Secrets are a server's own, and are never shown.
      if (isSecretMember(name) && member !== null && typeof member !== 'boolean')
        into.places.set(`body ${at}`, '<secret>');
      else flatten(member, at, into);
    }
  } else into.places.set(`body ${path}`, typeof value === 'string' ? into.named(value) : value);
}

/** Members under which a configuration lists keys, some of them as mere texts. */
const KEY_LIST = /\/(?:access_keys|users)$/;

/** The elements of a list of keys by their key, for which no order is told; null for any other list. */
function byKey(list: readonly JsonValue[], path: string): ReadonlyMap<string, JsonValue> | null {
  if (list.length === 0 || !(KEY_LIST.test(path) || list.every((each) => isJsonObject(each) && 'access_key' in each)))
    return null;
  const keyed = new Map(list.flatMap((each) => keyOf(each).map(({ accessKey }) => [accessKey, each] as const)));
  return keyed.size === list.length ? keyed : null;
}

/** By their text once values that servers made have their placeholders' names, which are the same on both. */
function inOneOrder(list: readonly JsonValue[], named: (text: string) => string): readonly JsonValue[] {
  const texts = new Map(list.map((each) => [each, named(writeJson(each))]));
  return [...list].sort((a, b) => compareTexts(texts.get(a) ?? '', texts.get(b) ?? ''));
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Puts the placeholder's name where the value stands that a server made for it. */
function namer(bindings: Bindings): (text: string) => string {
  const values = [...bindings].filter(
    ([name, value]) => /^(?:key|session|audit-id|secret):/.test(name) && value.length > 3,
  );
  return (text) => values.reduce((named, [name, value]) => named.replaceAll(value, `<${name}>`), text);
}

function differing(left: Places, right: Places): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [place, value] of left) if (!sameJson(value, right.get(place))) found.add(place);
  for (const place of right.keys()) if (!left.has(place)) found.add(place);
  return found;
}

/** The same difference in several places and scenarios, once: `where` has `*` for the places in lists, the values are an example. */
export interface DifferenceGroup extends Omit<RunDifference, 'step'> {
  readonly scenarios: readonly string[];
}

/** Gathers differences by operation and place. */
export function groupDifferences(
  compared: readonly { readonly name: string; readonly differences: readonly RunDifference[] }[],
): readonly DifferenceGroup[] {
  const groups = new Map<string, DifferenceGroup>();
  for (const { name, differences } of compared) {
    for (const { operation, where, expected, actual } of differences) {
      const place = where.replaceAll(INDEX, '/*');
      const key = `${operation} ${place}`;
      const present = groups.get(key) ?? { operation, where: place, expected, actual, scenarios: [] };
      const scenarios = present.scenarios.includes(name) ? present.scenarios : [...present.scenarios, name];
      groups.set(key, { ...present, scenarios });
    }
  }
  return [...groups.values()].sort((a, b) => compareTexts(`${a.operation} ${a.where}`, `${b.operation} ${b.where}`));
}
