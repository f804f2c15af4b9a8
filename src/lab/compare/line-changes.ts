import { OPERATIONS } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { AnswerDifference } from '../format/json-difference.js';
import { traitDifferences, traitWords } from './trait-differences.js';

/** A place where two servers answer differently; `operation` if one revision does not serve the operation. */
export interface RunDifference extends AnswerDifference {
  readonly step: number;
  /** The operation, or the scenario's name for any other request. */
  readonly operation: string;
}

/** The revisions of two servers. */
export interface Sides {
  readonly left: Revision;
  readonly right: Revision;
}

/**
 * The effect of a difference on a client that moves to another line: `reads`, a read that worked fails; `gone`, an
 * operation or a member is missing, or a write fails; `new`, anything else: more, or other values.
 */
export type ChangeKind = 'reads' | 'gone' | 'new';

/** In order of severity; each kind also covers those after it. */
export const CHANGE_KINDS: readonly ChangeKind[] = ['reads', 'gone', 'new'];

/** A difference between two lines from the point of view of a client. */
export interface LineChange {
  readonly kind: ChangeKind;
  /** The difference between the two records that explains it; null if none does. */
  readonly because: string | null;
}

/** Returns what a difference between two lines does to the client, and the difference of records behind it. */
export function changeOf(difference: RunDifference, sides: Sides): LineChange {
  const found = traitBehind(difference, sides);
  return { kind: kindOf(difference), because: found === undefined ? null : traitWords(found) };
}

/** Tells whether a difference comes from the lines' records, whatever state their servers are in. */
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
  /** Their names in the table of revisions, the nearest first. */
  readonly traits: readonly string[];
  /** True if they decide the value, rather than only whether there is one. */
  readonly isWhole?: boolean;
}

/** The traits behind answers that no capability decides; the first matching row counts. */
const TRAITS_AT: readonly TraitsAt[] = [
  { at: / header access-control-/, traits: ['other origins'], isWhole: true },
  { at: /^cors status$/, traits: ['other origins'], isWhole: true },
  { at: /^panel /, traits: ['panel'] },
  { at: /^subscribe body \/data$/, traits: ['share query', 'subscription'], isWhole: true },
  { at: /^subscribe /, traits: ['subscription', 'share query'] },
  { at: /^(?:listUsers|getUser) .*\/online$/, traits: ['online'], isWhole: true },
  { at: /^(?:listUsers|getUser) /, traits: ['snapshot'] },
  { at: /^getStatus /, traits: ['status'] },
  { at: /^putConfig status$/, traits: ['file layout'], isWhole: true },
  { at: /^getConfig /, traits: ['file layout'] },
  // One of the layouts cannot express an outbound that exists and is off.
  { at: /^putRules status$|^getRules body \/data$/, traits: ['file layout'] },
];

const AUTH: TraitsAt = { at: /status/, traits: ['auth'], isWhole: true };

function rowAt({ operation, where, expected, actual }: RunDifference): TraitsAt | undefined {
  if (where === 'status' && (actual === 401n || expected === 401n)) return AUTH;
  return TRAITS_AT.find(({ at }) => at.test(`${operation} ${where}`));
}

/** Returns the traits that decide a place of an answer, the nearest first. */
function traitsAt(difference: RunDifference): readonly string[] {
  const row = rowAt(difference);
  const capability = operationOf(difference)?.capability ?? null;
  return [...(row?.traits ?? []), ...(capability === null || row === AUTH ? [] : [capability])];
}
