import { isUtf8 } from 'node:buffer';
import type { ConfigurationPatch } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { Pace, Steps } from '../../core/steps.js';
import { JsonSyntaxError, MAX_DEPTH } from '../../wire/json/scanner.js';
import { adoptedSteps } from '../adopt.js';
import { TOO_LONG, tooMuch } from '../edit.js';
import {
  type ArrayValue,
  areEqualSteps,
  broughtValueSteps,
  copySteps,
  emptyObject,
  holdsKeys,
  type ObjectValue,
  touch,
  type Value,
} from '../value.js';

/** The most operations of a JSON Patch. */
const MOST_OPERATIONS = 1_000;
/** The most values that the copies of a patch may make, because each copy could double what the previous one made. */
const MOST_COPIED = 100_000;

/** The growth caused by a patch: copied values, and bytes, both its own and copied ones. */
export interface Growth {
  copied: number;
  bytes: number;
}

/** A patch that was read. It turns one value into another, or throws `configFormatFailed`, `conflict` or `useKeys`. */
export type Patch = (value: Value, growth: Growth) => Steps<Value>;

/** Reads a JSON Patch (RFC 6902) or a Merge Patch (RFC 7396). Throws `invalidBody`. */
export function* readPatchSteps({ form, body }: Pick<ConfigurationPatch, 'form' | 'body'>, pace: Pace): Steps<Patch> {
  const patch = yield* bodyValueSteps(body, pace);
  if (form === 'merge') return (value) => mergedSteps(value, patch, pace);
  const operations = operationsIn(patch);
  return function* (value, growth) {
    let root = value;
    for (const [index, operation] of operations.entries()) {
      root = yield* appliedSteps(root, { ...operation, index }, growth, pace);
      if (pace.isDue()) yield;
    }
    return root;
  };
}

function* bodyValueSteps(body: Buffer, pace: Pace): Steps<Value> {
  if (!isUtf8(body)) throw invalid('body', 'UTF-8');
  try {
    return yield* broughtValueSteps(body, pace);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new DomainError('invalidBody', `body is no JSON: ${error.message}`);
    throw error;
  }
}

/** The members that an operation has in addition to `op` and `path`. */
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
  /** The text as given. */
  readonly place: string;
  readonly path: Pointer;
  readonly from: Pointer;
  /** A value of null for an operation without one. */
  readonly value: Value;
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
  const value = operation.members.get('value');
  if (needed === 'value' && value === undefined) throw invalid(`[${index}].value`, 'a value');
  const place = textIn(operation, 'path', index);
  const path = pointerIn(place, `[${index}].path`);
  const from = needed === 'from' ? pointerIn(textIn(operation, 'from', index), `[${index}].from`) : path;
  return { op, place, path, from, value: value ?? NULL };
}

function textIn({ members }: ObjectValue, name: string, index: number): string {
  const value = members.get(name);
  if (value?.kind !== 'string') throw invalid(`[${index}].${name}`, 'a string');
  return value.text;
}

/** Returns the steps of a JSON Pointer (RFC 6901). */
function pointerIn(text: string, place: string): Pointer {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) throw invalid(place, 'a JSON Pointer (RFC 6901)');
  const steps = text.slice(1).split('/');
  if (steps.length > MAX_DEPTH) throw invalid(place, `at most ${MAX_DEPTH} steps`);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function* appliedSteps(
  root: Value,
  operation: Operation & { readonly index: number },
  growth: Growth,
  pace: Pace,
): Steps<Value> {
  const { op, index, place, path, from, value } = operation;
  const said = (reason: string) => `operation ${index} (${op} ${place}): ${reason}`;
  const fail = (reason: string) => new DomainError('conflict', said(reason));
  if (op === 'remove') return yield* changedSteps(root, path, null, fail, pace);
  if (op === 'move' || op === 'copy') {
    const moved = valueUnder(root, from, fail);
    if (holdsKeys(moved)) throw useKeys(op === 'move' ? 'moves a list of keys' : 'makes keys twice');
    if (op === 'move') {
      if (isBelow(path, from)) throw fail('a value cannot be moved into itself');
      const left = yield* changedSteps(root, from, null, fail, pace);
      return yield* changedSteps(left, path, { value: moved, how: 'put' }, fail, pace);
    }
    const grow = (bytes: number): void => {
      growth.copied += 1;
      growth.bytes += bytes;
      if (growth.copied > MOST_COPIED) throw tooMuch(said(`it would copy more than ${MOST_COPIED} values`));
      if (growth.bytes > FILE_LIMITS.configuration) throw tooMuch(said(TOO_LONG));
    };
    const copy = yield* copySteps(moved, grow, pace);
    return yield* changedSteps(root, path, { value: copy, how: 'put' }, fail, pace);
  }
  if (op === 'add') return yield* changedSteps(root, path, { value, how: 'add' }, fail, pace);
  const present = valueUnder(root, path, fail);
  if (op === 'replace') return yield* changedSteps(root, path, { value, how: 'replace' }, fail, pace);
  if (!(yield* areEqualSteps(present, value, pace))) throw fail('the configuration has another value there');
  return root;
}

const isBelow = (path: Pointer, from: Pointer): boolean =>
  path.length > from.length && from.every((step, index) => path[index] === step);

type Fail = (reason: string) => DomainError;

/** Returns the value at a path, which must exist. */
function valueUnder(root: Value, path: Pointer, fail: Fail): Value {
  const value = path.reduce((holder, step) => childOf(holder, step, fail), root);
  if (value.kind === 'keys') throw useKeys('reads a list of keys');
  return value;
}

const MISSING = 'there is no such place in the configuration';

function childOf(value: Value, step: string, fail: Fail): Value {
  if (value.kind === 'keys') throw useKeys('looks into a list of keys');
  if (value.kind !== 'object' && value.kind !== 'array') throw fail(MISSING);
  const child = value.kind === 'object' ? value.members.get(step) : isIndex(step) && value.items[Number(step)];
  if (!child) throw fail(MISSING);
  return child;
}

const isIndex = (step: string): boolean => /^(?:0|[1-9]\d{0,9})$/.test(step);

/** A value for a place. `put` uses it unchanged; `replace` and `add` keep what equals the present one. */
interface Wanted {
  readonly value: Value;
  readonly how: 'add' | 'replace' | 'put';
}

/** Puts a value at a path, or removes the one there. Returns the root. */
function* changedSteps(root: Value, path: Pointer, wanted: Wanted | null, fail: Fail, pace: Pace): Steps<Value> {
  const last = path.at(-1);
  if (last === undefined) {
    if (wanted === null) throw fail('the configuration as a whole cannot be removed');
    return yield* placedSteps(root, wanted, pace);
  }
  let holder = root;
  for (const step of path.slice(0, -1)) {
    if (holder.kind === 'object' || holder.kind === 'array') touch(holder);
    holder = childOf(holder, step, fail);
  }
  if (holder.kind === 'keys') throw useKeys('changes a list of keys');
  if (holder.kind !== 'object' && holder.kind !== 'array') throw fail(MISSING);
  touch(holder);
  if (holder.kind === 'object') yield* changeMember(holder, last, wanted, fail, pace);
  else yield* changeItem(holder, last, wanted, fail, pace);
  return root;
}

/** Returns the value to put in the place of another. */
function* placedSteps(present: Value, { value, how }: Wanted, pace: Pace): Steps<Value> {
  if (present.kind === 'keys') throw useKeys('replaces a list of keys');
  return how === 'put' ? value : yield* adoptedSteps(present, value, pace);
}

function* changeMember(
  { members }: ObjectValue,
  name: string,
  wanted: Wanted | null,
  fail: Fail,
  pace: Pace,
): Steps<void> {
  const present = members.get(name);
  if (wanted !== null) {
    members.set(name, present === undefined ? wanted.value : yield* placedSteps(present, wanted, pace));
    return;
  }
  if (present === undefined) throw fail(MISSING);
  if (holdsKeys(present)) throw useKeys('removes a list of keys');
  members.delete(name);
}

function* changeItem({ items }: ArrayValue, step: string, wanted: Wanted | null, fail: Fail, pace: Pace): Steps<void> {
  // Moving the items after it costs little for each.
  if (pace.isDue(items.length >> 6)) yield;
  const isEnd = step === '-';
  if (!isEnd && !isIndex(step)) throw fail('expected an index');
  const index = isEnd ? items.length : Number(step);
  const isInserted = wanted !== null && wanted.how !== 'replace';
  const present = items[index];
  if (isInserted && index <= items.length) items.splice(index, 0, wanted.value);
  else if (present === undefined || isInserted) throw fail(MISSING);
  else if (wanted !== null) items[index] = yield* placedSteps(present, wanted, pace);
  else if (holdsKeys(present)) throw useKeys('removes a list of keys');
  else items.splice(index, 1);
}

/** Merges as RFC 7396 specifies. */
function* mergedSteps(target: Value, patch: Value, pace: Pace): Steps<Value> {
  if (patch.kind !== 'object') return yield* adoptedSteps(target, patch, pace);
  const result = target.kind === 'object' ? target : emptyObject(target.at);
  for (const [name, wanted] of patch.members) {
    if (pace.isDue()) yield;
    const present = result.members.get(name);
    if (present?.kind === 'keys') throw useKeys(`replaces the list of keys ${JSON.stringify(name)}`);
    if (wanted.kind === 'literal' && wanted.text === 'null') {
      if (present === undefined) continue;
      if (holdsKeys(present)) throw useKeys(`removes a list of keys with ${JSON.stringify(name)}`);
      result.members.delete(name);
      touch(result);
      continue;
    }
    const value = yield* mergedSteps(present ?? NULL, wanted, pace);
    if (value === present && value.isSame) continue;
    result.members.set(name, value);
    touch(result);
  }
  return result;
}

const NULL: Value = { kind: 'literal', text: 'null', at: null, isSame: false };

function invalid(place: string, expected: string): DomainError {
  return new DomainError('invalidBody', `${place}: expected ${expected}`);
}

/** Returns the refusal of a patch that touches a list of keys. */
export function useKeys(what: string): DomainError {
  return new DomainError('useKeys', `the patch ${what}`);
}
