import { createHash } from 'node:crypto';
import { DomainError } from '../../core/errors.js';
import { type Pace, type Steps, sortedSteps } from '../../core/steps.js';
import { createScanner, expectEnd, expectUnicode, MAX_DEPTH, syntaxError } from '../../wire/json/scanner.js';
import type { Outline } from '../change.js';
import type { KeyList } from '../key-list.js';
import { readTree, readTreeSteps, type ValueNode } from '../tree.js';

/**
 * A JSON value that a patch works on. A patch changes arrays and objects in place, so that each value stands in one place alone.
 * `at` is the place of the document whose value it takes over; null for a value that a patch brings. `isSame` until it is changed.
 */
export type Value = ScalarValue | KeysValue | ArrayValue | ObjectValue;

export interface ScalarValue {
  readonly kind: 'string' | 'number' | 'literal';
  readonly at: ValueNode | null;
  readonly isSame: boolean;
  /** A string's characters, a number as it is spelled, or the word. */
  readonly text: string;
}

/** A list of keys, which no patch changes. */
export interface KeysValue {
  readonly kind: 'keys';
  readonly at: ValueNode;
  readonly isSame: true;
  readonly list: KeyList;
  /** The bytes in which the list stands. */
  readonly bytes: Buffer;
}

interface Container {
  readonly at: ValueNode | null;
  isSame: boolean;
  /** True where a list of keys stands in it, which no patch takes out. */
  readonly hasKeys: boolean;
  /** The answer of `identitySteps`; null before, and after a change. */
  identity: string | null;
}

export interface ArrayValue extends Container {
  readonly kind: 'array';
  readonly items: Value[];
}

export interface ObjectValue extends Container {
  readonly kind: 'object';
  /** The last one of a repeated member. */
  readonly members: Map<string, Value>;
}

/** The value that a tree over an outline stands for. */
export function documentValueSteps({ bytes, lists, document }: Outline, root: ValueNode, pace: Pace): Steps<Value> {
  return valueSteps({ bytes, lists, document, isBrought: false }, root, pace);
}

/** A value as a patch brings it. Throws `JsonSyntaxError`, also for a member that comes twice in one object. */
export function* broughtValueSteps(bytes: Buffer, pace: Pace): Steps<Value> {
  const scanner = createScanner(bytes, false);
  const root = yield* readTreeSteps(scanner);
  expectEnd(scanner);
  expectUnicode(scanner);
  return yield* valueSteps({ bytes, lists: NO_LISTS, document: bytes, isBrought: true }, root, pace);
}

const NO_LISTS: Outline['lists'] = new Map();

interface Source extends Pick<Outline, 'bytes' | 'lists' | 'document'> {
  readonly isBrought: boolean;
}

function* valueSteps(source: Source, node: ValueNode, pace: Pace): Steps<Value> {
  const { bytes, isBrought } = source;
  const placed = isBrought ? { at: null, isSame: false } : { at: node, isSame: true };
  if (node.kind === 'array') {
    const list = source.lists.get(node.start);
    if (list !== undefined) return { kind: 'keys', at: node, isSame: true, list, bytes: source.document };
    const items: Value[] = [];
    for (const element of node.elements) {
      items.push(yield* valueSteps(source, element, pace));
      if (pace.isDue()) yield;
    }
    return { kind: 'array', ...placed, hasKeys: items.some(holdsKeys), identity: null, items };
  }
  if (node.kind === 'object') {
    const members = new Map<string, Value>();
    for (const { name, start, value } of node.members) {
      if (isBrought && members.has(name)) throw syntaxError(bytes, `duplicate member ${JSON.stringify(name)}`, start);
      members.set(name, yield* valueSteps(source, value, pace));
      if (pace.isDue()) yield;
    }
    return { kind: 'object', ...placed, hasKeys: [...members.values()].some(holdsKeys), identity: null, members };
  }
  if (node.kind === 'string') return { kind: 'string', ...placed, text: node.value };
  const kind = node.kind === 'integer' || node.kind === 'number' ? 'number' : 'literal';
  return { kind, ...placed, text: bytes.toString('latin1', node.start, node.end) };
}

/** An object with nothing in it yet. */
export function emptyObject(at: ValueNode | null, hasKeys = false): ObjectValue {
  return { kind: 'object', at, isSame: false, hasKeys, identity: null, members: new Map() };
}

/** To be called with each array or object in which something is changed. */
export function touch(value: ArrayValue | ObjectValue): void {
  value.isSame = false;
  value.identity = null;
}

export function holdsKeys(value: Value): boolean {
  return value.kind === 'keys' || ((value.kind === 'array' || value.kind === 'object') && value.hasKeys);
}

/** Copies a value without lists of keys. `grow` is told the bytes of each value that it makes. */
export function* copySteps(value: Value, grow: (bytes: number) => void, pace: Pace, level = 0): Steps<Value> {
  if (pace.isDue()) yield;
  if (value.kind !== 'array' && value.kind !== 'object') {
    grow(value.kind === 'keys' ? 0 : value.text.length);
    return value;
  }
  expectLevel(level);
  grow(2);
  const kept = { at: value.at, isSame: value.isSame, hasKeys: false, identity: value.identity };
  if (value.kind === 'array') {
    const items: Value[] = [];
    for (const item of value.items) items.push(yield* copySteps(item, grow, pace, level + 1));
    return { kind: 'array', ...kept, items };
  }
  const members = new Map<string, Value>();
  for (const [name, member] of value.members) {
    grow(name.length);
    members.set(name, yield* copySteps(member, grow, pace, level + 1));
  }
  return { kind: 'object', ...kept, members };
}

/** Throws where a value stands in more arrays and objects than any reader takes. */
export function expectLevel(level: number): void {
  if (level >= MAX_DEPTH) throw new DomainError('configFormatFailed', `it would have more than ${MAX_DEPTH} levels`);
}

/**
 * Tells whether two values are equal (RFC 6902, 4.6): numbers by what they are worth, objects in any order. A list of keys is
 * compared where the other one has something in its place. The work is bounded by what is smaller.
 */
export function* areEqualSteps(one: Value, other: Value, pace: Pace): Steps<boolean> {
  if (pace.isDue(weightOf(one))) yield;
  if (one.kind === 'keys') return other.kind === 'array' && (yield* hasItemsSteps(one, other, pace));
  if (one.kind === 'array' && other.kind === 'array') {
    if (one.items.length !== other.items.length) return false;
    for (const [index, item] of one.items.entries()) {
      const twin = other.items[index];
      if (twin === undefined || !(yield* areEqualSteps(item, twin, pace))) return false;
    }
    return true;
  }
  if (one.kind === 'object' && other.kind === 'object') {
    let met = 0;
    for (const [name, member] of one.members) {
      const twin = other.members.get(name);
      if (twin === undefined && member.kind === 'keys') continue;
      if (twin === undefined || !(yield* areEqualSteps(member, twin, pace))) return false;
      met += 1;
    }
    return met === other.members.size;
  }
  return isScalar(one) && isScalar(other) && canonicalText(one) === canonicalText(other);
}

function* hasItemsSteps({ list, bytes }: KeysValue, { items }: ArrayValue, pace: Pace): Steps<boolean> {
  if (items.length !== list.starts.length) return false;
  for (const [index, item] of items.entries()) {
    const node = readTree(createScanner(bytes, true, list.starts[index]));
    const key = yield* valueSteps({ bytes, lists: NO_LISTS, document: bytes, isBrought: false }, node, pace);
    if (!(yield* areEqualSteps(key, item, pace))) return false;
  }
  return true;
}

const isScalar = (value: Value): value is ScalarValue =>
  value.kind === 'string' || value.kind === 'number' || value.kind === 'literal';

/** A text that is the same for equal values alone. Lists of keys are left out of their objects. */
export function* identitySteps(value: Value, pace: Pace, level = 0): Steps<string> {
  if (value.kind === 'keys') return '[]';
  if (isScalar(value)) return shortened(canonicalText(value));
  if (value.identity !== null) return value.identity;
  expectLevel(level);
  const hash = createHash('sha256');
  let text = value.kind === 'array' ? '[' : '{';
  const names: string[] = [];
  for (const [name, { kind }] of value.kind === 'object' ? value.members : []) {
    if (kind !== 'keys') names.push(name);
    if (pace.isDue()) yield;
  }
  for (const [name, child] of namedChildren(value, yield* sortedSteps(names))) {
    const identity = yield* identitySteps(child, pace, level + 1);
    text += `${name}${identity},`;
    if (!pace.isDue(weightOf(child))) continue;
    hash.update(text);
    text = '';
    yield;
  }
  value.identity = `#${hash.update(text).digest('base64')}`;
  return value.identity;
}

/** The work that a value is by itself, of which a long text is more. */
export const weightOf = (value: Value): number => 1 + (isScalar(value) ? value.text.length >> 6 : 0);

function* namedChildren(value: ArrayValue | ObjectValue, names: readonly string[]): Generator<[string, Value], void> {
  if (value.kind === 'array') for (const item of value.items) yield ['', item];
  else
    for (const name of names) {
      const member = value.members.get(name);
      if (member !== undefined) yield [`${JSON.stringify(name)}:`, member];
    }
}

/** The longest text that stands for itself in what is hashed with others. */
const LONGEST_TEXT = 64;

const shortened = (text: string): string =>
  text.length <= LONGEST_TEXT ? text : `#${createHash('sha256').update(text).digest('base64')}`;

/** The same text for equal scalars alone. */
function canonicalText({ kind, text }: ScalarValue): string {
  if (kind === 'string') return JSON.stringify(text);
  return kind === 'number' ? canonicalNumber(text) : text;
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
