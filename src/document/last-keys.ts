import type { AccessKey } from '../core/model.js';
import type { Steps } from '../core/steps.js';
import type { KeysNode } from './key-list.js';
import type { Warnings } from './reading.js';

/** A key list with its place in the file. */
export interface PlacedKeys {
  readonly place: string;
  readonly node: KeysNode;
}

/** The warning about a key that an earlier element has, too. */
export const DUPLICATE_KEY = 'this key stands in the file before; the last counts';

/**
 * Returns the records of several lists as servers have them: of equal keys the last one, at the place of the first; each
 * further one is a warning. It looks them up by the hashes that the lists have anyway, in one array of numbers, which
 * costs a fraction of a `Set` of strings.
 */
export function* lastOfEachSteps(lists: readonly PlacedKeys[], warnings: Warnings): Steps<readonly AccessKey[]> {
  const total = lists.reduce((sum, { node }) => sum + node.records.length, 0);
  const slots = 2 ** Math.ceil(Math.log2(Math.max(2 * total, 2)));
  /** Positions in `keys` plus one; 0 is free. Open addressing, at most half full. */
  const table = new Uint32Array(slots);
  const keys: AccessKey[] = [];

  /** Adds a record; returns false if its key is already known. */
  function take(record: AccessKey, hash: number): boolean {
    let slot = hash & (slots - 1);
    for (let position = table[slot]; position !== undefined && position !== 0; position = table[slot]) {
      if (keys[position - 1]?.accessKey === record.accessKey) {
        keys[position - 1] = record;
        return false;
      }
      slot = (slot + 1) & (slots - 1);
    }
    keys.push(record);
    table[slot] = keys.length;
    return true;
  }

  for (const { place, node } of lists) {
    const { hashes } = node.list;
    let index = 0;
    for (const record of node.records) {
      // An element without a key has no record, and the hash 0.
      while (hashes[index] === 0) index += 1;
      if (!take(record, hashes[index] ?? 0)) {
        warnings.add(`${place}[${index}]`, DUPLICATE_KEY);
      }
      index += 1;
      if (index % STEP_KEYS === 0) yield;
    }
  }
  return keys;
}

/** Keys that are processed in one step. */
const STEP_KEYS = 16_000;
