import { OPERATIONS } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { RunDifference } from './compare-runs.js';
import { type TraitDifference, traitDifferences, traitWords } from './trait-differences.js';

/**
 * The effect of a difference on a client that moves to another line: `reads`, a read that worked fails; `gone`, an
 * operation or a member that it had is there no more, or a write fails; `new`, all else: more, or other values.
 */
export type ChangeKind = 'reads' | 'gone' | 'new';

/** Each kind counts for those after it. */
export const CHANGE_KINDS: readonly ChangeKind[] = ['reads', 'gone', 'new'];

/** One difference between two lines as a client meets it. */
export interface LineChange {
  readonly kind: ChangeKind;
  /** The difference of the two records that it comes from; null where none names it. */
  readonly because: string | null;
}

/** Says what a difference between two lines does to the client, and which difference of their records it is. */
export function changeOf(difference: RunDifference, from: Revision, to: Revision): LineChange {
  const trait = traitOf(difference);
  const found = traitDifferences(from, to).find((each: TraitDifference) => each.trait === trait);
  return { kind: kindOf(difference), because: found === undefined ? null : traitWords(found) };
}

function operationOf({ operation }: RunDifference) {
  return OPERATIONS.find(({ name }) => name === operation);
}

function kindOf(difference: RunDifference): ChangeKind {
  const { where, expected, actual } = difference;
  const isRead =
    operationOf(difference)?.effect.kind !== 'writes' && operationOf(difference)?.effect.kind !== 'destroys';
  const fails = isRead ? 'reads' : 'gone';
  if (where === 'operation') return expected === 'served' ? fails : 'new';
  if (where === 'status') return isSuccess(expected) && !isSuccess(actual) ? fails : 'new';
  return actual === undefined ? 'gone' : 'new';
}

function isSuccess(status: RunDifference['expected']): boolean {
  return typeof status === 'bigint' && status < 400n;
}

/** The trait, by its name in the table of revisions, that decides what stands at a place of an answer. */
function traitOf(difference: RunDifference): string | null {
  const { operation, where, actual, expected } = difference;
  if (where === 'status' && (actual === 401n || expected === 401n)) return 'auth';
  if (operation === 'panel') return 'panel';
  if (operation === 'subscribe') return 'share query';
  if (operation === 'listUsers' || operation === 'getUser') return where.endsWith('/online') ? 'online' : 'snapshot';
  return operationOf(difference)?.capability ?? null;
}
