import type { KeyFieldName } from '../../core/keys/key-fields.js';
import { copyOf, keyFields } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';

/** A server's record of a key, counters aside; null where it has none. */
export type KeyState = AccessKey | null;

/** Tells whether snapshots of the server's line show a column. */
export type Tells = (name: KeyFieldName) => boolean;

/** Returns whether both are the same. Columns count only where the line tells them. */
export function sameState(a: KeyState, b: KeyState, tells: Tells = () => true): boolean {
  if (a === null || b === null) return a === b;
  return a.accessKey === b.accessKey && keyFields.every(({ name }) => a[name] === b[name] || !tells(name));
}

/** The record alone, whatever else the object has. */
export function stateOf(key: AccessKey | undefined): KeyState {
  return key === undefined ? null : copyOf(key);
}
