import { AlikeQueue } from '../core/continued-items.js';
import { mappedSteps, type Pace, type Steps } from '../core/steps.js';
import { emptyObject, holdsKeys, identitySteps, isScalar, type Value } from './value.js';

/**
 * Returns the new value for the old one's place. Common parts remain as they were, with their comments and spelling,
 * and so does a list of keys, whatever the new value has there.
 */
export function* adoptedSteps(old: Value, next: Value, pace: Pace): Steps<Value> {
  if (pace.isDue()) yield;
  if (old.kind === 'keys' || (yield* isLike(old, next, pace))) return old;
  if (old.kind === 'object' && next.kind === 'object') {
    const result = emptyObject(old.at, old.hasKeys);
    for (const [name, value] of next.members) {
      const present = old.members.get(name);
      result.members.set(name, present === undefined ? value : yield* adoptedSteps(present, value, pace));
    }
    for (const [name, member] of old.members) {
      if (member.kind === 'keys') result.members.set(name, member);
      if (pace.isDue()) yield;
    }
    return result;
  }
  if (old.kind === 'array' && next.kind === 'array') {
    return { ...old, items: yield* adoptedItems(old.items, next.items, pace), isSame: false, identity: null };
  }
  return next.kind === 'keys' ? next : { ...next, at: old.at, isSame: false };
}

/** Tells whether an old value may stay in place of a new one: they are equal, and it has no list of keys. */
function* isLike(old: Value | undefined, next: Value | undefined, pace: Pace): Steps<boolean> {
  if (old === undefined || next === undefined || holdsKeys(old)) return false;
  return (yield* identitySteps(old, pace)) === (yield* identitySteps(next, pace));
}

/** Matches new items with old ones: equal ones at both ends, then those with the same tag, then equal ones, then in order. */
function* adoptedItems(old: readonly Value[], next: readonly Value[], pace: Pace): Steps<Value[]> {
  const most = Math.min(old.length, next.length);
  let head = 0;
  while (head < most && (yield* isLike(old[head], next[head], pace))) head += 1;
  let tail = 0;
  while (tail < most - head && (yield* isLike(old.at(-1 - tail), next.at(-1 - tail), pace))) tail += 1;
  const left = new Set<Value>();
  const byTag = new Map<string, Value>();
  for (const one of old.slice(head, old.length - tail)) {
    left.add(one);
    const tag = tagOf(one);
    if (tag !== null) byTag.set(tag, one);
    if (pace.isDue()) yield;
  }
  const wanted = next.slice(head, next.length - tail);
  const taggedAs = (value: Value): Value | undefined => {
    const tag = tagOf(value);
    const found = tag === null ? undefined : byTag.get(tag);
    return found !== undefined && left.delete(found) ? found : undefined;
  };
  const tagged = yield* mappedSteps(wanted, taggedAs, pace);
  const alike = new AlikeQueue<Value>();
  for (const one of left) {
    if (!holdsKeys(one)) alike.put(yield* identitySteps(one, pace), one);
    if (pace.isDue()) yield;
  }
  for (const [index, value] of wanted.entries()) {
    if (pace.isDue()) yield;
    if (tagged[index] !== undefined) continue;
    const one = alike.take(yield* identitySteps(value, pace));
    if (one !== undefined && left.delete(one)) tagged[index] = one;
  }
  const others = left.values();
  const items = old.slice(0, head);
  for (const [index, value] of wanted.entries()) {
    const matched = tagged[index];
    const one = matched ?? others.next().value;
    // A new scalar keeps nothing of the old one, whose place would only count against items that stay.
    const isNew = one === undefined || (matched === undefined && isScalar(one) && isScalar(value));
    items.push(isNew ? value : yield* adoptedSteps(one, value, pace));
  }
  for (const item of old.slice(old.length - tail)) items.push(item);
  return items;
}

/** Returns the tag of an inbound or outbound. */
function tagOf(value: Value): string | null {
  const tag = value.kind === 'object' ? value.members.get('tag') : undefined;
  return tag?.kind === 'string' ? tag.text : null;
}
