import { isUtf8 } from 'node:buffer';
import type { ConfigurationPatch } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import {
  createScanner,
  expectEnd,
  expectUnicode,
  JsonSyntaxError,
  MAX_DEPTH,
  skipValue,
} from '../../wire/json/scanner.js';
import { areEqual, holdsKeys, type ObjectValue, type Value, valueIn, withItems, withMember } from './value.js';

/** Operations of a JSON Patch: each may go through the whole configuration besides its keys. */
const MOST_OPERATIONS = 1_000;
/** Values that the copies of a patch may make: each could double what the one before it made. */
const MOST_COPIED = 100_000;

/** A patch that was read: makes another value of one, or throws `invalidBody`, `conflict` or `useKeys`. */
export type Patch = (value: Value) => Value;

/** Reads a JSON Patch (RFC 6902) or a Merge Patch (RFC 7396). Throws `invalidBody`. */
export function readPatch({ form, body }: Pick<ConfigurationPatch, 'form' | 'body'>): Patch {
  const patch = bodyValue(body);
  if (form === 'merge') return (value) => merged(value, patch);
  const operations = operationsIn(patch);
  return (value) => {
    let copied = 0;
    return operations.reduce((before, operation, index) => {
      const after = applied(before, operation, index);
      if (operation.op !== 'copy') return after;
      copied += valuesIn(valueUnder(before, operation.from, (reason) => new DomainError('conflict', reason)));
      if (copied > MOST_COPIED) throw invalid(`[${index}]`, `copies of at most ${MOST_COPIED} values`);
      return after;
    }, value);
  };
}

/** Counts the value and those in it. */
function valuesIn(value: Value): number {
  if (value.kind === 'array') return value.items.reduce((sum, item) => sum + valuesIn(item), 1);
  return value.kind === 'object' ? [...value.members.values()].reduce((sum, each) => sum + valuesIn(each), 1) : 1;
}

/** Levels of lists and objects. */
function depthOf(value: Value): number {
  if (value.kind !== 'array' && value.kind !== 'object') return 0;
  const children = value.kind === 'array' ? value.items : [...value.members.values()];
  return 1 + children.reduce((most, child) => Math.max(most, depthOf(child)), 0);
}

function bodyValue(body: Buffer): Value {
  if (!isUtf8(body)) throw invalid('body', 'UTF-8');
  try {
    const scanner = createScanner(body, false);
    skipValue(scanner);
    expectEnd(scanner);
    expectUnicode(scanner);
    return valueIn(body);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new DomainError('invalidBody', `body is no JSON: ${error.message}`);
    throw error;
  }
}

/** The members that an operation has besides `op` and `path`. */
const OPERATIONS: ReadonlyMap<string, 'value' | 'from' | null> = new Map([
  ['add', 'value'],
  ['remove', null],
  ['replace', 'value'],
  ['move', 'from'],
  ['copy', 'from'],
  ['test', 'value'],
]);

type Pointer = readonly string[];

interface Operation {
  readonly op: string;
  /** The text that was given. */
  readonly place: string;
  readonly path: Pointer;
  readonly from: Pointer;
  readonly value: Value | null;
}

function operationsIn(patch: Value): readonly Operation[] {
  if (patch.kind !== 'array') throw invalid('body', 'an array of operations (RFC 6902)');
  if (patch.items.length > MOST_OPERATIONS) throw invalid('body', `at most ${MOST_OPERATIONS} operations`);
  return patch.items.map(readOperation);
}

function readOperation(operation: Value, index: number): Operation {
  if (operation.kind !== 'object') throw invalid(`[${index}]`, 'an operation');
  const op = textIn(operation, 'op', index);
  const needed = OPERATIONS.get(op);
  if (needed === undefined) throw invalid(`[${index}].op`, `one of ${[...OPERATIONS.keys()].join(', ')}`);
  const value = operation.members.get('value') ?? null;
  if (needed === 'value' && value === null) throw invalid(`[${index}].value`, 'a value');
  const place = textIn(operation, 'path', index);
  const path = pointerIn(place, `[${index}].path`);
  const from = needed === 'from' ? pointerIn(textIn(operation, 'from', index), `[${index}].from`) : path;
  return { op, place, path, from, value };
}

function textIn({ members }: ObjectValue, name: string, index: number): string {
  const value = members.get(name);
  if (value?.kind !== 'string') throw invalid(`[${index}].${name}`, 'a string');
  return value.text;
}

/** The steps of a JSON Pointer (RFC 6901). */
function pointerIn(text: string, place: string): Pointer {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) throw invalid(place, 'a JSON Pointer (RFC 6901)');
  const steps = text.slice(1).split('/');
  if (steps.length > MAX_DEPTH) throw invalid(place, `at most ${MAX_DEPTH} steps`);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function applied(root: Value, operation: Operation, index: number): Value {
  const { op, place, path, from, value } = operation;
  const fail = (reason: string) => new DomainError('conflict', `operation ${index} (${op} ${place}): ${reason}`);
  if (op === 'test') {
    const found = valueUnder(root, path, fail);
    if (value === null || !areEqual(found, value)) throw fail('the configuration has another value there');
    return root;
  }
  if (op === 'remove') return changedAt(root, path, null, fail);
  const expectShallow = (placed: Value) => {
    if (path.length + depthOf(placed) > MAX_DEPTH) throw fail(`it would have more than ${MAX_DEPTH} levels`);
  };
  if (op === 'add' || op === 'replace') {
    if (op === 'replace') valueUnder(root, path, fail);
    expectShallow(value ?? NULL);
    return changedAt(root, path, { value: value ?? NULL, how: op }, fail);
  }
  const moved = valueUnder(root, from, fail);
  if (holdsKeys(moved)) throw useKeys(op === 'move' ? 'moves a list of keys' : 'makes keys twice');
  expectShallow(moved);
  if (op === 'move' && isBelow(path, from)) throw fail('a value cannot be moved into itself');
  const left = op === 'move' ? changedAt(root, from, null, fail) : root;
  return changedAt(left, path, { value: moved, how: 'put' }, fail);
}

const NULL: Value = { kind: 'literal', text: 'null', at: null, isSame: false };

const isBelow = (path: Pointer, from: Pointer): boolean =>
  path.length > from.length && from.every((step, index) => path[index] === step);

type Fail = (reason: string) => DomainError;

/** The value at a path, which must exist. */
function valueUnder(root: Value, path: Pointer, fail: Fail): Value {
  let value = root;
  for (const step of path) {
    const next = childOf(value, step);
    if (next === undefined) throw fail(MISSING);
    value = next;
  }
  if (value.kind === 'keys') throw useKeys('reads a list of keys');
  return value;
}

const MISSING = 'there is no such place in the configuration';

function childOf(value: Value, step: string): Value | undefined {
  if (value.kind === 'keys') throw useKeys('looks into a list of keys');
  if (value.kind === 'object') return value.members.get(step);
  return value.kind === 'array' && isIndex(step) ? value.items[Number(step)] : undefined;
}

const isIndex = (step: string): boolean => /^(?:0|[1-9]\d{0,9})$/.test(step);

/** A value for a place. `put` takes it as it is; `replace` and `add` spare what is there as far as both are alike. */
interface Wanted {
  readonly value: Value;
  readonly how: 'add' | 'replace' | 'put';
}

/** The value with another at a path, or with none there. */
function changedAt(value: Value, path: Pointer, wanted: Wanted | null, fail: Fail): Value {
  const [step, ...rest] = path;
  if (step === undefined) {
    if (wanted === null) throw fail('the configuration as a whole cannot be removed');
    if (value.kind === 'keys') throw useKeys('replaces a list of keys');
    return wanted.how === 'put' ? wanted.value : adopted(value, wanted.value);
  }
  if (rest.length > 0) {
    const child = childOf(value, step);
    if (child === undefined) throw fail(MISSING);
    const changed = changedAt(child, rest, wanted, fail);
    if (value.kind === 'object') return withMember(value, step, changed);
    return value.kind === 'array' ? withItems(value, Number(step), 1, changed) : value;
  }
  if (value.kind === 'object') return changedMember(value, step, wanted, fail);
  if (value.kind === 'array') return changedItem(value, step, wanted, fail);
  if (value.kind === 'keys') throw useKeys('changes a list of keys');
  throw fail(MISSING);
}

function changedMember(object: ObjectValue, name: string, wanted: Wanted | null, fail: Fail): Value {
  const present = object.members.get(name);
  if (wanted === null) {
    if (present === undefined) throw fail(MISSING);
    if (holdsKeys(present)) throw useKeys('removes a list of keys');
    return withMember(object, name, null);
  }
  return withMember(object, name, present === undefined ? wanted.value : changedAt(present, [], wanted, fail));
}

function changedItem(array: Value & { kind: 'array' }, step: string, wanted: Wanted | null, fail: Fail): Value {
  const { length } = array.items;
  const isEnd = step === '-';
  if (!isEnd && !isIndex(step)) throw fail('expected an index');
  const index = isEnd ? length : Number(step);
  const isInserted = wanted !== null && wanted.how !== 'replace';
  if (index > length || (index === length && !isInserted)) throw fail(MISSING);
  if (wanted !== null && isInserted) return withItems(array, index, 0, wanted.value);
  const present = array.items[index] ?? NULL;
  if (wanted !== null) return withItems(array, index, 1, changedAt(present, [], wanted, fail));
  if (holdsKeys(present)) throw useKeys('removes a list of keys');
  return withItems(array, index, 1);
}

/** Merges as RFC 7396 says. */
function merged(target: Value, patch: Value): Value {
  if (patch.kind !== 'object') return adopted(target, patch);
  let result: ObjectValue = target.kind === 'object' ? target : { ...patch, at: target.at, members: new Map() };
  for (const [name, wanted] of patch.members) {
    const present = result.members.get(name);
    if (present?.kind === 'keys') throw useKeys(`replaces the list of keys ${JSON.stringify(name)}`);
    const isRemoved = wanted.kind === 'literal' && wanted.text === 'null';
    if (isRemoved && present === undefined) continue;
    if (isRemoved && present !== undefined && holdsKeys(present))
      throw useKeys(`removes a list of keys with ${JSON.stringify(name)}`);
    const value = isRemoved ? null : merged(present ?? { ...NULL }, wanted);
    if (value !== present) result = withMember(result, name, value);
  }
  return result;
}

/**
 * The new value in the old one's place: whatever both have in common stays what it was, with its comments and its spelling,
 * and so does a list of keys, whatever the new value says there.
 */
function adopted(old: Value, next: Value): Value {
  if (old === next || old.kind === 'keys' || (!holdsKeys(old) && areEqual(old, next))) return old;
  if (old.kind === 'object' && next.kind === 'object') {
    const members = [...next.members].map(([name, value]) => [name, inPlaceOf(old.members.get(name), value)] as const);
    const lists = [...old.members].filter(([, { kind }]) => kind === 'keys');
    return { ...old, members: new Map([...members, ...lists]), isSame: false };
  }
  if (old.kind === 'array' && next.kind === 'array') {
    return { ...old, items: adoptedItems(old.items, next.items), isSame: false };
  }
  return { ...next, at: old.at, isSame: false };
}

const inPlaceOf = (old: Value | undefined, next: Value): Value => (old === undefined ? next : adopted(old, next));

/** New items in the places of old ones: of equal ones at both ends, then of those with the same tag, then in their order. */
function adoptedItems(old: readonly Value[], next: readonly Value[]): readonly Value[] {
  const most = Math.min(old.length, next.length);
  let head = 0;
  while (head < most && isEqualItem(old[head], next[head])) head += 1;
  let tail = 0;
  while (tail < most - head && isEqualItem(old.at(-1 - tail), next.at(-1 - tail))) tail += 1;
  const left = new Set(old.slice(head, old.length - tail));
  const wanted = next.slice(head, next.length - tail);
  const byTag = new Map([...left].flatMap((one) => (tagOf(one) === null ? [] : [[tagOf(one), one] as const])));
  const tagged = wanted.map((value) => {
    const tag = tagOf(value);
    const found = tag === null ? undefined : byTag.get(tag);
    if (found === undefined || !left.delete(found)) return undefined;
    return found;
  });
  const others = left.values();
  const middle = wanted.map((value, index) => inPlaceOf(tagged[index] ?? others.next().value, value));
  return [...old.slice(0, head), ...middle, ...old.slice(old.length - tail)];
}

function isEqualItem(old: Value | undefined, next: Value | undefined): boolean {
  return old !== undefined && next !== undefined && !holdsKeys(old) && areEqual(old, next);
}

/** The name that inbounds and outbounds bear. */
function tagOf(value: Value): string | null {
  const tag = value.kind === 'object' ? value.members.get('tag') : undefined;
  return tag?.kind === 'string' ? tag.text : null;
}

function invalid(place: string, expected: string): DomainError {
  return new DomainError('invalidBody', `${place}: expected ${expected}`);
}

/** The refusal of a patch that touches a list of keys. */
export function useKeys(what: string): DomainError {
  return new DomainError('useKeys', `the patch ${what}`);
}
