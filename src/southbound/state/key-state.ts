import type { AccessKey } from '../../core/model.js';

/** What a server has of a key, counters aside; null where it has none. */
export type KeyState = AccessKey | null;

/** Whether both say the same. Names count only where the line tells them. */
export function sameState(a: KeyState, b: KeyState, tellsNames: boolean): boolean {
  if (a === null || b === null) return a === b;
  return a.accessKey === b.accessKey && a.limitBytes === b.limitBytes && (!tellsNames || a.name === b.name);
}

/** The record alone, whatever else the object has. */
export function stateOf(key: AccessKey | undefined): KeyState {
  return key === undefined ? null : { accessKey: key.accessKey, name: key.name, limitBytes: key.limitBytes };
}
