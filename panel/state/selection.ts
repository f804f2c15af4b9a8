import type { User } from '../api/wire.js';

export interface SelectionCounts {
  /** Rows of the list that are selected. */
  readonly ticked: number;
  /** Selected keys that exist, without those on their way out. */
  readonly there: number;
  /** The number of these that the list does not show just now. */
  readonly unseen: number;
}

type Keys = Pick<ReadonlySet<string>, 'has' | 'size'>;

/** Counts without making a list of the keys: one look at each row, and one at each selected key only where some are not shown. */
export function countSelection(
  selected: ReadonlySet<string>,
  rows: readonly User[],
  byKey: Keys,
  leaving: Keys,
): SelectionCounts {
  let ticked = 0;
  let shown = 0;
  if (selected.size > 0) {
    for (const { access_key: key } of rows) {
      if (!selected.has(key)) continue;
      ticked += 1;
      if (!leaving.has(key)) shown += 1;
    }
  }
  const there = shown === selected.size ? shown : chosenKeys(selected, byKey, leaving).length;
  return { ticked, there, unseen: there - shown };
}

/** The selected keys that exist, without those on their way out. */
export function chosenKeys(selected: ReadonlySet<string>, byKey: Keys, leaving: Keys): readonly string[] {
  return [...selected].filter((key) => byKey.has(key) && !leaving.has(key));
}

/** Returns the keys that no row shows. */
export function unseenOf(keys: readonly string[], rows: readonly User[]): ReadonlySet<string> {
  const unseen = new Set(keys);
  for (const { access_key: key } of rows) unseen.delete(key);
  return unseen;
}

/** Returns a copy with these keys, or without them. */
export function selectedWith(selected: ReadonlySet<string>, keys: readonly string[], on: boolean): ReadonlySet<string> {
  const next = new Set(selected);
  for (const key of keys) {
    if (on) next.add(key);
    else next.delete(key);
  }
  return next;
}
