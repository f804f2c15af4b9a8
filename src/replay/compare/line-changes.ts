import { OPERATIONS } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { AnswerDifference } from '../format/json-difference.js';
import { traitDifferences, traitWords } from './trait-differences.js';

/** One place where two servers answer differently; `operation` is one more, for what one revision does not serve. */
export interface RunDifference extends AnswerDifference {
  readonly step: number;
  /** The operation, or what the scenario calls a request that is none. */
  readonly operation: string;
}

/** The revisions of two servers. */
export interface Sides {
  readonly left: Revision;
  readonly right: Revision;
}

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
export function changeOf(difference: RunDifference, sides: Sides): LineChange {
  const found = traitBehind(difference, sides);
  return { kind: kindOf(difference), because: found === undefined ? null : traitWords(found) };
}

/** Tells whether a difference comes of the lines' records in whatever states their servers stand. */
export function isOfTheLines(difference: RunDifference, sides: Sides): boolean {
  const { where, expected, actual } = difference;
  if (where === 'operation') return true;
  const isMember =
    where.startsWith('body') && (expected === undefined || actual === undefined) && !/\/(?:\d+|\[[^/]*\])$/.test(where);
  return (isMember || rowAt(difference)?.isWhole === true) && traitBehind(difference, sides) !== undefined;
}

function traitBehind(difference: RunDifference, { left, right }: Sides) {
  const traits = traitsAt(difference);
  const differing = traitDifferences(left, right).filter(({ trait }) => traits.includes(trait));
  return differing.toSorted((a, b) => traits.indexOf(a.trait) - traits.indexOf(b.trait))[0];
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

interface TraitsAt {
  /** Matches the operation and the place. */
  readonly at: RegExp;
  /** By their names in the table of revisions, the nearest first. */
  readonly traits: readonly string[];
  /** True where they decide the value, and not only whether there is one. */
  readonly isWhole?: boolean;
}

/** The traits of answers that no capability decides; the first row that fits counts. */
const TRAITS_AT: readonly TraitsAt[] = [
  { at: / header access-control-/, traits: ['other origins'], isWhole: true },
  { at: /^panel /, traits: ['panel'] },
  { at: /^subscribe body \/data$/, traits: ['share query', 'subscription'], isWhole: true },
  { at: /^subscribe /, traits: ['subscription', 'share query'] },
  { at: /^(?:listUsers|getUser) .*\/online$/, traits: ['online'], isWhole: true },
  { at: /^(?:listUsers|getUser) /, traits: ['snapshot'] },
  { at: /^getStatus /, traits: ['status'] },
  { at: /^putConfig status$/, traits: ['file layout'], isWhole: true },
  { at: /^getConfig /, traits: ['file layout'] },
];

const AUTH: TraitsAt = { at: /status/, traits: ['auth'], isWhole: true };

function rowAt({ operation, where, expected, actual }: RunDifference): TraitsAt | undefined {
  if (where === 'status' && (actual === 401n || expected === 401n)) return AUTH;
  return TRAITS_AT.find(({ at }) => at.test(`${operation} ${where}`));
}

/** The traits that decide what stands at a place of an answer, the nearest first. */
function traitsAt(difference: RunDifference): readonly string[] {
  const row = rowAt(difference);
  const capability = operationOf(difference)?.capability ?? null;
  return [...(row?.traits ?? []), ...(capability === null || row === AUTH ? [] : [capability])];
}
