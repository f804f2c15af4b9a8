import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type Bindings, hasUnbound, matchText } from './placeholders.js';

/** Two values that should be equal; `undefined` is a missing value. */
interface Unequal {
  readonly expected: JsonValue | undefined;
  readonly actual: JsonValue | undefined;
}

/** One place where two JSON values differ. */
export interface ValueDifference extends Unequal {
  /** JSON pointer (RFC 6901). */
  readonly path: string;
}

/** A place where an answer is not as expected, without the request. */
export interface AnswerDifference extends Unequal {
  /** `status`, `header NAME`, `text`, `body POINTER`, `file POINTER`, `file`, `request` or `connection`. */
  readonly where: string;
}

export function differenceInWords({ where, expected, actual }: AnswerDifference): string {
  return `${where}: expected ${valueInWords(expected)}, found ${valueInWords(actual)}`;
}

/** Returns a value as JSON; `nothing` for a missing one. */
export function valueInWords(value: JsonValue | undefined): string {
  return value === undefined ? 'nothing' : writeJson(value);
}

export interface JsonComparison {
  /** JSON pointers of unordered arrays; a segment `*` matches any. */
  readonly unordered: readonly string[];
  /** The values of placeholders; grows as they match for the first time. */
  readonly bindings: Bindings;
  /** Set if texts are never placeholders. */
  readonly isExact?: true;
}

type Members = Readonly<Record<string, JsonValue>>;

/**
 * Lists where `actual` differs from `expected`. Members are unordered, numbers are compared by value (1000 equals 1e3,
 * and integers are exact at any size), and texts by their placeholders.
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

/**
 * Tells whether two JSON values are equal to the last digit, with unordered members; a missing value equals only a
 * missing one.
 */
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

/** Returns a member's name as a segment of a JSON pointer. */
export function pointerName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Renames the expected members to the values of their placeholders; an unbound one takes the first remaining name. */
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
 * Pairs equal elements wherever they are. Elements whose placeholders are all bound go first, so that an unbound one
 * takes what is left. An element without a partner, even one with the same access key, is one difference, at the array
 * itself.
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

/** Removes elements with the same access key from both lists, so that only their inner differences are shown. */
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

/** Compares using a copy of the bindings, which is kept only if everything matches. */
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

/** Tells whether a JSON pointer matches a pattern, in which a segment `*` matches any. */
export function coversPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length && wanted.every((segment, index) => segment === '*' || segment === given[index])
  );
}
