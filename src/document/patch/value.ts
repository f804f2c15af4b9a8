import { createScanner, syntaxError } from '../../wire/json/scanner.js';
import { readTree, type ValueNode } from '../tree.js';

/**
 * A JSON value that a patch works on. It is immutable: a change makes another one, which keeps `at`, the place of the
 * document whose value it takes over; null for a value that a patch brings. `isSame` until it is changed.
 */
export type Value = ScalarValue | KeysValue | ArrayValue | ObjectValue;

interface Placed {
  readonly at: ValueNode | null;
  readonly isSame: boolean;
}

export interface ScalarValue extends Placed {
  readonly kind: 'string' | 'number' | 'literal';
  /** A string's characters, a number as it is spelled, or the word. */
  readonly text: string;
}

/** A list of keys, into which no patch looks. */
export interface KeysValue extends Placed {
  readonly kind: 'keys';
}

export interface ArrayValue extends Placed {
  readonly kind: 'array';
  readonly items: readonly Value[];
}

export interface ObjectValue extends Placed {
  readonly kind: 'object';
  /** The last one of a repeated member. */
  readonly members: ReadonlyMap<string, Value>;
}

/** The value that a tree over these bytes stands for; arrays that begin at `keyLists` are lists of keys. */
export function valueAt(bytes: Buffer, at: ValueNode, keyLists: ReadonlySet<number>): Value {
  const placed = { at, isSame: true };
  if (at.kind === 'object') {
    const members = at.members.map(({ name, value }) => [name, valueAt(bytes, value, keyLists)] as const);
    return { ...placed, kind: 'object', members: new Map(members) };
  }
  if (at.kind === 'array') {
    if (keyLists.has(at.start)) return { ...placed, kind: 'keys' };
    return { ...placed, kind: 'array', items: at.elements.map((element) => valueAt(bytes, element, keyLists)) };
  }
  if (at.kind === 'string') return { ...placed, kind: 'string', text: at.value };
  const kind = at.kind === 'integer' || at.kind === 'number' ? 'number' : 'literal';
  return { ...placed, kind, text: bytes.toString('latin1', at.start, at.end) };
}

const NO_LISTS: ReadonlySet<number> = new Set();

/** A value as a patch brings it, out of a valid JSON text. Throws for a member that comes twice in one object. */
export function valueIn(bytes: Buffer): Value {
  const root = readTree(createScanner(bytes, false));
  expectNoRepeats(bytes, root);
  return brought(valueAt(bytes, root, NO_LISTS));
}

function expectNoRepeats(bytes: Buffer, node: ValueNode): void {
  if (node.kind === 'array') for (const element of node.elements) expectNoRepeats(bytes, element);
  if (node.kind !== 'object') return;
  const names = new Set<string>();
  for (const { name, start, value } of node.members) {
    if (names.has(name)) throw syntaxError(bytes, `duplicate member ${JSON.stringify(name)}`, start);
    names.add(name);
    expectNoRepeats(bytes, value);
  }
}

/** The value as one that stands nowhere in the document. */
function brought(value: Value): Value {
  const placed = { at: null, isSame: false };
  if (value.kind === 'array') return { ...placed, kind: 'array', items: value.items.map(brought) };
  if (value.kind !== 'object') return { ...value, ...placed };
  const members = [...value.members].map(([name, member]) => [name, brought(member)] as const);
  return { ...placed, kind: 'object', members: new Map(members) };
}

/** The object with a member set, or taken out for null. */
export function withMember(object: ObjectValue, name: string, value: Value | null): ObjectValue {
  const members = new Map(object.members);
  if (value === null) members.delete(name);
  else members.set(name, value);
  return { ...object, members, isSame: false };
}

/** The array with `removed` items at an index replaced by these. */
export function withItems(array: ArrayValue, index: number, removed: number, ...items: readonly Value[]): ArrayValue {
  return { ...array, items: array.items.toSpliced(index, removed, ...items), isSame: false };
}

export function holdsKeys(value: Value): boolean {
  if (value.kind === 'array') return value.items.some(holdsKeys);
  if (value.kind === 'object') return [...value.members.values()].some(holdsKeys);
  return value.kind === 'keys';
}

/** Tells whether two values are equal (RFC 6902, 4.6): numbers by what they are worth, objects in any order. */
export function areEqual(one: Value, other: Value): boolean {
  return one === other || canonicalText(one) === canonicalText(other);
}

/** The same text for equal values alone. Lists of keys are left out of their objects. */
export function canonicalText(value: Value): string {
  if (value.kind === 'object') {
    const members = [...value.members].filter(([, member]) => member.kind !== 'keys');
    const texts = members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`);
    return `{${texts.sort().join(',')}}`;
  }
  if (value.kind === 'array') return `[${value.items.map(canonicalText).join(',')}]`;
  if (value.kind === 'keys') return '[]';
  if (value.kind === 'string') return JSON.stringify(value.text);
  return value.kind === 'number' ? canonicalNumber(value.text) : value.text;
}

/** Digits of an exponent that is reckoned with: a number of a million digits would hold everybody up for seconds. */
const MOST_EXPONENT = 15;

/**
 * The worth of a number as digits without zeros at either end and a power of ten; `1.0`, `1` and `10e-1` are the same. An
 * exponent that is longer than any number of the world needs is told by its digits beside it.
 */
function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponentSign = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)0*(\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return '0';
  const significant = withoutZerosBehind(digits);
  const isLong = exponent.length > MOST_EXPONENT;
  const power =
    (isLong ? 0 : Number(`${exponentSign}${exponent}`)) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${power}${isLong ? `and${exponentSign === '-' ? '-' : ''}${exponent}` : ''}`;
}

/** By hand: a regular expression takes a time that grows with the square of the zeros within. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}
