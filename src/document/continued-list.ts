import { isDeepStrictEqual } from 'node:util';
import { type Likeness, placesContinued } from '../core/continued-items.js';
import { finish, Pace } from '../core/steps.js';
import { adoptedSteps } from './adopt.js';
import type { Rendered } from './style.js';
import type { ArrayNode, ValueNode } from './tree.js';
import { type ArrayValue, arrayOf, isScalar, keptValue, newValue, touch, type Value, valueAt } from './value.js';

/** The members of an object as they are written. */
export type Members = ReadonlyMap<string, Rendered>;

/** Reads, writes and recognizes the items of a list in a file, which are objects. */
export interface ItemForm<T> extends Likeness<T> {
  /** Reads an item; null if it cannot be used. */
  read(element: ValueNode): T | null;
  render(item: T): Members;
}

/**
 * Returns a list with these items in the place of one in the file. Each that continues one of the file keeps its comments and unknown
 * members; an equal one keeps its text.
 */
export function continuedList<T>(bytes: Buffer, list: ArrayNode, wanted: readonly T[], form: ItemForm<T>): ArrayValue {
  const present = list.elements.map((element) => form.read(element));
  const places = placesContinued(wanted, present, form);
  const items = wanted.map((item, index) => {
    const place = places[index] ?? -1;
    const [node, before] = [list.elements[place], present[place] ?? null];
    if (node?.kind !== 'object' || before === null) return newValue(form.render(item));
    if (form.isSame(before, item)) return keptValue(node);
    return changedItem(valueAt(bytes, node), form.render(before), form.render(item));
  });
  return arrayOf(items, list);
}

/** Returns an item with the members set in which another one differs, or which it lacks. */
function changedItem(item: Value, before: Members, after: Members): Value {
  if (item.kind !== 'object') return newValue(after);
  const gone = [...before.keys()].filter((name) => !after.has(name)).map((name) => [name, null] as const);
  for (const [name, value] of [...after, ...gone]) {
    const present = item.members.get(name);
    if (present !== undefined && isDeepStrictEqual(before.get(name), value)) continue;
    item.members.set(name, inPlaceOf(present, value));
  }
  touch(item);
  return item;
}

/** Returns the value for another's place, where it keeps what both have in common. */
export function inPlaceOf(present: Value | undefined, rendered: Rendered): Value {
  const value = newValue(rendered);
  if (present === undefined) return value;
  return isScalar(value) ? { ...value, at: present.at } : finish(adoptedSteps(present, value, new Pace()));
}
