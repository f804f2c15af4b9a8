import type { Backend, ChangeOutcome, KeyChange } from '../backend.js';
import { DomainError, isAway } from '../errors.js';

/** Makes one change. Rejects with why it was not made; `refuses` as in `HowChanged`. */
export async function changeKey(
  { changes }: Pick<Backend, 'changes'>,
  asked: KeyChange,
  { refuses = false } = {},
): Promise<void> {
  const [failed = null] = await changes.apply([asked], { note: null, refuses });
  if (failed !== null) throw failed;
}

/** Resolves to the outcome of a change that is a call of its own. Rejects where nobody who holds the state answers. */
export async function outcomeOf(change: Promise<void>): Promise<ChangeOutcome> {
  try {
    await change;
    return null;
  } catch (error) {
    if (error instanceof DomainError && !isAway(error)) return error;
    throw error;
  }
}

/** Makes changes one after the other. */
export async function eachByItself(
  changes: readonly KeyChange[],
  make: (asked: KeyChange) => Promise<ChangeOutcome>,
): Promise<readonly ChangeOutcome[]> {
  const outcomes: ChangeOutcome[] = [];
  for (const asked of changes) outcomes.push(await make(asked));
  return outcomes;
}
