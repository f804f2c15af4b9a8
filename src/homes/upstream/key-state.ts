import type { KeyFieldName } from '../../core/keys/key-fields.js';
import { copyOf, keyFields } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';

/** A server's record of a key, without counters; null if it has no such key. */
export type KeyState = AccessKey | null;

/** Tells whether snapshots of the server's line show a column. */
export type Tells = (name: KeyFieldName) => boolean;

/** Tells whether two records are the same in the columns that snapshots of the line show. */
export function sameState(a: KeyState, b: KeyState, tells: Tells = () => true): boolean {
  if (a === null || b === null) return a === b;
  return a.accessKey === b.accessKey && keyFields.every(({ name }) => a[name] === b[name] || !tells(name));
}

/** Picks the record out of an object with more members. */
export function stateOf(key: AccessKey | undefined): KeyState {
  return key === undefined ? null : copyOf(key);
}
