import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type Bindings, hasUnbound, matchText } from './placeholders.js';

/** Two values that should be the same; `undefined` is a value that is not there. */
interface Unequal {
  readonly expected: JsonValue | undefined;
  readonly actual: JsonValue | undefined;
}

/** One place where two JSON values differ. */
export interface ValueDifference extends Unequal {
  /** JSON pointer (RFC 6901). */
  readonly path: string;
}

/** One place where an answer is not as it should be, without the request that it answers. */
export interface AnswerDifference extends Unequal {
  /** `status`, `header NAME`, `text`, `body POINTER`, `file POINTER`, `file`, `request` or `connection`. */
  readonly where: string;
}

export function differenceInWords({ where, expected, actual }: AnswerDifference): string {
  return `${where}: expected ${valueInWords(expected)}, found ${valueInWords(actual)}`;
}

/** A value as JSON; `nothing` where there is none. */
export function valueInWords(value: JsonValue | undefined): string {
  return value === undefined ? 'nothing' : writeJson(value);
}

export interface JsonComparison {
  /** JSON pointers of arrays without an order; a segment `*` stands for any. */
  readonly unordered: readonly string[];
  /** The values of placeholders; grows as they match for the first time. */
  readonly bindings: Bindings;
  /** No text is taken for a placeholder. */
  readonly isExact?: true;
}

type Members = Readonly<Record<string, JsonValue>>;

/**
 * Lists where `actual` differs from `expected`: members without an order, numbers by value (1000 equals 1e3, and integers are
 * exact at any size), texts with their placeholders.
 */
export function jsonDifferences(
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
  comparison: JsonComparison,
  path = '',
): readonly ValueDifference[] {
  if (Array.isArray(expected) && Array.isArray(actual)) return arrayDifferences(expected, actual, comparison, path);
  if (isJsonObject(expected) && isJsonObject(actual)) return memberDifferences(expected, actual, comparison, path);
  return equalScalars(expected, actual, comparison) ? [] : [{ path, expected, actual }];
}

function equalScalars(
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
  { bindings, isExact }: JsonComparison,
): boolean {
  if (typeof expected === 'string' && actual !== undefined && isExact !== true)
    return matchText(expected, actual, bindings);
  if (typeof expected === 'bigint' && typeof actual === 'number') return equalNumbers(expected, actual);
  if (typeof expected === 'number' && typeof actual === 'bigint') return equalNumbers(actual, expected);
  return expected === actual;
}

function equalNumbers(integer: bigint, number: number): boolean {
  return Number.isInteger(number) && BigInt(number) === integer;
}

/** Tells whether two JSON values are the same to the last digit, members without an order; what is not there equals only that. */
export function sameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true;
  return jsonDifferences(left, right, { unordered: [], bindings: new Map(), isExact: true }).length === 0;
}

function memberDifferences(
  expected: Members,
  actual: Members,
  comparison: JsonComparison,
  path: string,
): readonly ValueDifference[] {
  const named = comparison.isExact === true ? expected : withNames(expected, actual, comparison.bindings);
  const ownOf = (members: Members, name: string) => (Object.hasOwn(members, name) ? members[name] : undefined);
  return [...new Set([...Object.keys(named), ...Object.keys(actual)])].flatMap((name) =>
    jsonDifferences(ownOf(named, name), ownOf(actual, name), comparison, `${path}/${pointerName(name)}`),
  );
}

/** A member's name as a segment of a JSON pointer. */
export function pointerName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The expected members under the names that their placeholders stand for; an open one takes the first name that is left. */
function withNames(expected: Members, actual: Members, bindings: Bindings): Members {
  const names = Object.keys(expected);
  if (!names.some((name) => name.includes('<'))) return expected;
  const left = new Set(Object.keys(actual).filter((name) => !Object.hasOwn(expected, name)));
  const result: Record<string, JsonValue> = Object.create(null);
  for (const name of names) {
    const found = name.includes('<') ? [...left].find((each) => matchText(name, each, bindings)) : undefined;
    if (found !== undefined) left.delete(found);
    result[found ?? name] = expected[name] ?? null;
  }
  return result;
}

function arrayDifferences(
  expected: readonly JsonValue[],
  actual: readonly JsonValue[],
  comparison: JsonComparison,
  path: string,
): readonly ValueDifference[] {
  if (comparison.unordered.some((pattern) => coversPath(pattern, path)))
    return unorderedDifferences(expected, actual, comparison, path);
  const length = Math.max(expected.length, actual.length);
  return Array.from({ length }, (_, index) =>
    jsonDifferences(expected[index], actual[index], comparison, `${path}/${index}`),
  ).flat();
}

/**
 * Pairs equal elements whatever their place. Elements whose placeholders are all known go first, so that an open
 * placeholder takes what is left. What finds no partner, not even one about the same
 * access key, is one difference each, at the array itself.
 */
function unorderedDifferences(
  expected: readonly JsonValue[],
  actual: readonly JsonValue[],
  comparison: JsonComparison,
  path: string,
): readonly ValueDifference[] {
  const left = [...actual];
  const missing: JsonValue[] = [];
  const open = (element: JsonValue) => Number(isOpen(element, comparison.bindings));
  for (const element of [...expected].sort((a, b) => open(a) - open(b))) {
    const index = left.findIndex((candidate) => matches(element, candidate, comparison, path));
    if (index < 0) missing.push(element);
    else left.splice(index, 1);
  }
  const paired = pairByKey(missing, left, comparison);
  return [
    ...paired.flatMap(({ wanted, given }) =>
      jsonDifferences(wanted, given, comparison, `${path}/${actual.indexOf(given)}`),
    ),
    ...missing.map((element) => ({ path, expected: element, actual: undefined })),
    ...left.map((element) => ({ path, expected: undefined, actual: element })),
  ];
}

/** Takes out of both lists the elements that are about the same access key, so that only what differs in them is shown. */
function pairByKey(
  missing: JsonValue[],
  left: JsonValue[],
  { bindings }: JsonComparison,
): readonly { readonly wanted: JsonValue; readonly given: JsonValue }[] {
  const keyOf = (value: JsonValue) => (isJsonObject(value) ? value.access_key : undefined);
  return [...missing].flatMap((wanted) => {
    const key = keyOf(wanted);
    if (typeof key !== 'string' || hasUnbound(key, bindings)) return [];
    const given = left.find((each) => matchText(key, keyOf(each) ?? null, bindings));
    if (given === undefined) return [];
    missing.splice(missing.indexOf(wanted), 1);
    left.splice(left.indexOf(given), 1);
    return [{ wanted, given }];
  });
}

/** Compares on a copy of the bindings, which are kept only when everything matches. */
function matches(expected: JsonValue, actual: JsonValue, comparison: JsonComparison, path: string): boolean {
  const bindings = new Map(comparison.bindings);
  if (jsonDifferences(expected, actual, { ...comparison, bindings }, `${path}/0`).length > 0) return false;
  for (const [name, value] of bindings) comparison.bindings.set(name, value);
  return true;
}

function isOpen(value: JsonValue, bindings: Bindings): boolean {
  if (typeof value === 'string') return hasUnbound(value, bindings);
  if (Array.isArray(value)) return value.some((element) => isOpen(element, bindings));
  return isJsonObject(value) && Object.values(value).some((member) => isOpen(member, bindings));
}

/** Tells whether a JSON pointer fits a pattern, in which a segment `*` stands for any. */
export function coversPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length && wanted.every((segment, index) => segment === '*' || segment === given[index])
  );
}
