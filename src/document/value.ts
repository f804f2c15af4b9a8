import { createHash } from 'node:crypto';
import { DomainError } from '../core/errors.js';
import { byCodeUnits, finish, Pace, type Steps, sortedSteps } from '../core/steps.js';
import { createScanner, expectEnd, expectUnicode, MAX_DEPTH, syntaxError } from '../wire/json/scanner.js';
import type { KeyList } from './key-list.js';
import type { Outline } from './outline.js';
import { isRenderedArray, type Rendered } from './style.js';
import { type ObjectNode, readTree, readTreeSteps, type ValueNode } from './tree.js';

/**
 * A JSON value that a document is to have. Arrays and objects are changed in place, so each value occurs in one place
 * only. `at` is the place in the document whose value it has; null for a new one. `isSame` is true until it is changed.
 */
export type Value = ScalarValue | KeysValue | ArrayValue | ObjectValue;

export interface ScalarValue {
  readonly kind: 'string' | 'number' | 'literal';
  readonly at: ValueNode | null;
  readonly isSame: boolean;
  /** A string's characters, a number's spelling, or the word. */
  readonly text: string;
}

/** A list of keys, which no patch changes. */
export interface KeysValue {
  readonly kind: 'keys';
  readonly at: ValueNode;
  readonly isSame: true;
  readonly list: KeyList;
  /** The bytes that contain the list. */
  readonly bytes: Buffer;
}

interface Container {
  readonly at: ValueNode | null;
  isSame: boolean;
  /** True if it contains a list of keys, which no patch may remove. */
  readonly hasKeys: boolean;
  /** The result of `identitySteps`; null before, and after a change. */
  identity: string | null;
}

export interface ArrayValue extends Container {
  readonly kind: 'array';
  readonly items: Value[];
}

export interface ObjectValue extends Container {
  readonly kind: 'object';
  /** True if the document is to have its members in this order. */
  readonly isOrdered?: true;
  /** For a repeated name the last member. */
  readonly members: Map<string, Value>;
}

/** Returns the value of a tree without lists of keys. */
export function valueAt(bytes: Buffer, node: ValueNode): Value {
  return finish(documentValueSteps({ bytes, lists: NO_LISTS, document: bytes }, node, new Pace()));
}

/** Returns a value that stays as it is in the document. It is not read, so nothing may look into it. */
export function keptValue(at: ValueNode): Value {
  return { kind: 'literal', at, isSame: true, text: '' };
}

/** Returns an object of a document with some members set; the others stay, and are not read. */
export function objectWith(at: ObjectNode, changed: Iterable<readonly [string, Value]>): ObjectValue {
  const result = emptyObject(at);
  for (const { name, value } of at.members) result.members.set(name, keptValue(value));
  for (const [name, value] of changed) result.members.set(name, value);
  return result;
}

/** Returns an array with these items in the place of another, or a new one. */
export function arrayOf(items: Value[], at: ValueNode | null = null): ArrayValue {
  return { kind: 'array', at, isSame: false, hasKeys: false, identity: null, items };
}

/** Returns a new value. */
export function newValue(value: Rendered): Value {
  if (value instanceof Map) {
    const result = emptyObject(null);
    for (const [name, member] of value) result.members.set(name, newValue(member));
    return result;
  }
  if (isRenderedArray(value)) return arrayOf(value.map(newValue));
  const isNumber = typeof value === 'bigint' || typeof value === 'number';
  const kind = typeof value === 'string' ? 'string' : isNumber ? 'number' : 'literal';
  return { kind, at: null, isSame: false, text: String(value) };
}

/** Returns the value of a tree over an outline. */
export function documentValueSteps(outline: Omit<Source, 'isBrought'>, root: ValueNode, pace: Pace): Steps<Value> {
  return valueSteps({ ...outline, isBrought: false }, root, pace);
}

/** Reads a value from a patch. Throws `JsonSyntaxError`, also for a repeated member. */
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
    let hasKeys = false;
    for (const element of node.elements) {
      const item = yield* valueSteps(source, element, pace);
      items.push(item);
      hasKeys ||= holdsKeys(item);
      if (pace.isDue()) yield;
    }
    return { kind: 'array', ...placed, hasKeys, identity: null, items };
  }
  if (node.kind === 'object') {
    const members = new Map<string, Value>();
    let hasKeys = false;
    for (const { name, start, value } of node.members) {
      if (isBrought && members.has(name)) throw syntaxError(bytes, `duplicate member ${JSON.stringify(name)}`, start);
      const member = yield* valueSteps(source, value, pace);
      members.set(name, member);
      hasKeys ||= holdsKeys(member);
      if (pace.isDue()) yield;
    }
    return { kind: 'object', ...placed, hasKeys, identity: null, members };
  }
  if (node.kind === 'string') return { kind: 'string', ...placed, text: node.value };
  const kind = node.kind === 'integer' || node.kind === 'number' ? 'number' : 'literal';
  return { kind, ...placed, text: bytes.toString('latin1', node.start, node.end) };
}

/** Returns an empty object. */
export function emptyObject(at: ValueNode | null, hasKeys = false): ObjectValue {
  return { kind: 'object', at, isSame: false, hasKeys, identity: null, members: new Map() };
}

/** Must be called for each array or object in which something is changed. */
export function touch(value: ArrayValue | ObjectValue): void {
  value.isSame = false;
  value.identity = null;
}

export function holdsKeys(value: Value): boolean {
  return value.kind === 'keys' || ((value.kind === 'array' || value.kind === 'object') && value.hasKeys);
}

/** Copies a value without lists of keys. `grow` is called with the bytes of each value that it makes. */
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

/** Throws if a value is nested deeper than readers accept. */
export function expectLevel(level: number): void {
  if (level >= MAX_DEPTH) throw new DomainError('configFormatFailed', `it would have more than ${MAX_DEPTH} levels`);
}

/**
 * Tells whether two values are equal (RFC 6902, 4.6): numbers by value, objects in any order. A list of keys is
 * compared if the other one has something in its place. The work is bounded by the smaller value.
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

export const isScalar = (value: Value): value is ScalarValue =>
  value.kind === 'string' || value.kind === 'number' || value.kind === 'literal';

/** Returns a text that only equal values share. Lists of keys are left out of their objects. */
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
  for (const [name, child] of namedChildren(value, yield* sortedSteps(names, byCodeUnits))) {
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

/** Returns the work for the value itself, which grows with a long text. */
export const weightOf = (value: Value): number => 1 + (isScalar(value) ? value.text.length >> 6 : 0);

function* namedChildren(value: ArrayValue | ObjectValue, names: readonly string[]): Generator<[string, Value], void> {
  if (value.kind === 'array') for (const item of value.items) yield ['', item];
  else
    for (const name of names) {
      const member = value.members.get(name);
      if (member !== undefined) yield [`${JSON.stringify(name)}:`, member];
    }
}

/** The longest text that is hashed unchanged, together with others. */
const LONGEST_TEXT = 64;

const shortened = (text: string): string =>
  text.length <= LONGEST_TEXT ? text : `#${createHash('sha256').update(text).digest('base64')}`;

/** Returns a text that only equal scalars share. */
function canonicalText({ kind, text }: ScalarValue): string {
  if (kind === 'string') return JSON.stringify(text);
  return kind === 'number' ? canonicalNumber(text) : text;
}

/** The most digits of an exponent that is computed with, because a million digits would take seconds. */
const MOST_EXPONENT = 15;

/**
 * Writes a number as digits without zeros at either end and a power of ten, so that `1.0`, `1` and `10e-1` are the
 * same. An absurdly long exponent is kept as its own digits.
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

/** Written by hand, because the time of a regular expression grows with the square of the zeros inside. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}
