import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import { type KeyState, sameState, type Tells } from './key-state.js';

/** A write that the server has acknowledged, and that it may still lose. */
export interface Unsettled {
  readonly after: KeyState;
  /** What the key was before it, and before those that were not settled when it came; none says the same as `after`. */
  readonly formers: readonly KeyState[];
  /** When it was answered; monotonic, ms. */
  readonly answeredAt: number;
}

/**
 * What became of a write by what is seen of its key. `undone`: the key is exactly what it was before. `overtaken`: it is
 * something else again, which is somebody else's change.
 */
export type Fate = 'waits' | 'settled' | 'undone' | 'overtaken';

export function fateOf(write: Unsettled, seen: KeyState, sentAt: number, tells?: Tells): Fate {
  if (sentAt <= write.answeredAt) return 'waits';
  if (sameState(seen, write.after, tells)) return sentAt >= write.answeredAt + SETTLED_AFTER ? 'settled' : 'waits';
  return write.formers.some((former) => sameState(seen, former, tells)) ? 'undone' : 'overtaken';
}

/** Whether a key may look as the write left it, and have the name of before. */
export function mayLackName({ after, formers }: Unsettled): boolean {
  return after !== null && formers.some((former) => former !== null && former.name !== after.name);
}

/**
 * The same by the name alone, where only the configuration tells it; undefined where that has no such key, or cannot be read.
 * A list tells whether there is a key, so that one which still stands in no configuration twice as long afterwards waits no more.
 */
export function nameFateOf(write: Unsettled, name: string | null | undefined, sentAt: number): Fate {
  const { after, formers, answeredAt } = write;
  if (sentAt < answeredAt + SETTLED_AFTER) return 'waits';
  if (name === undefined) return sentAt >= answeredAt + 2 * SETTLED_AFTER ? 'settled' : 'waits';
  if (!mayLackName(write) || name === after?.name) return 'settled';
  return formers.some((former) => former !== null && former.name === name) ? 'undone' : 'overtaken';
}

/** What is to be settled once a key is written again before the write before is settled; null where nothing can be undone. */
export function followed(
  earlier: Unsettled | undefined,
  write: { readonly before: KeyState; readonly after: KeyState; readonly answeredAt: number },
): Unsettled | null {
  const { before, after, answeredAt } = write;
  const known = earlier === undefined ? [before] : [...earlier.formers, earlier.after, before];
  const formers: KeyState[] = [];
  for (const former of known) {
    if (sameState(former, after) || formers.some((each) => sameState(each, former))) continue;
    formers.push(former);
  }
  return formers.length === 0 ? null : { after, formers, answeredAt };
}
