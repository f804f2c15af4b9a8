import { type Change, type KeyItem, keyOf, type Outcome } from '../api/jobs.js';
import type { User } from '../api/wire.js';
import type { EventName } from '../i18n/events.js';
import { sentence, type Words } from '../i18n/text.js';
import { visible } from '../text/visible.js';
import { labelOf } from './named-keys.js';

/** Seconds in which what the server could not bring back can be taken back: it is not begun before. */
export const UNDO_TIME = 5;

/** The audit events of what is done, by operation. */
const LIMITS = { create: 'createKeys', update: 'setLimit', delete: 'deleteKeys', reset: 'resetKeys' } as const;
const TABLE = { ...LIMITS, update: 'changeKeys' } as const;

/** Everything that is done with several keys, each with its time to undo in seconds. */
export const VERBS = {
  create: { delay: 0, events: LIMITS },
  import: { delay: 0, events: TABLE },
  delete: { delay: UNDO_TIME, events: LIMITS },
  reset: { delay: UNDO_TIME, events: LIMITS },
  limit: { delay: 0, events: LIMITS },
  /** Takes changes back. */
  restore: { delay: 0, events: TABLE },
  /** Was begun elsewhere. */
  other: { delay: 0, events: LIMITS },
} as const satisfies Readonly<Record<string, VerbRow>>;
export type Verb = keyof typeof VERBS;

interface VerbRow {
  readonly delay: number;
  readonly events: Readonly<Record<KeyItem['op'], EventName>>;
}

/** Changes of keys that were asked for together, and how far they are. */
export interface Batch {
  readonly id: number;
  readonly verb: Verb;
  /** None of one that was begun elsewhere. */
  readonly changes: readonly Change[];
  readonly total: number;
  /** The title of its first key. */
  readonly name: string;
  /** Not begun yet, under way, or over. */
  readonly phase: 'soon' | 'running' | 'over';
  readonly done: number;
  readonly failed: number;
  /** The outcome of each change that was tried; known at the end. */
  readonly outcomes: readonly Outcome[];
  /** Somebody has stopped it. */
  readonly isStopped: boolean;
  /** The server tells nothing any more of some that it has taken. */
  readonly isUnknown: boolean;
  /** A window shows it, so that the bar need not. */
  readonly isShown: boolean;
}

/** One text for what became of a batch that was stopped, or of which not all is known. */
export function stoppedText(
  { done, total, isUnknown }: Pick<Batch, 'done' | 'total' | 'isUnknown'>,
  words: Words,
): string {
  if (isUnknown) return words('batch.unknown');
  return words('batch.stopped', { done, n: total });
}

/** Why changes that were made are in memory alone; null where all are saved. */
export function unsavedIn({ outcomes }: Pick<Batch, 'outcomes'>): unknown {
  return outcomes.find(({ ok, error }) => ok === true && error !== null)?.error ?? null;
}

const TOLD = 5;

/** Names the keys of a batch that failed, and the reason of the first. */
export function failureText(
  { verb, changes, outcomes }: Batch,
  byKey: ReadonlyMap<string, User>,
  words: Words,
): string {
  const failed = outcomes.filter(({ ok }) => ok === false);
  const names = failed.slice(0, TOLD).map(({ index, key: made }) => {
    const item = changes[index]?.item;
    const key = keyOf(item) || made;
    return labelOf({ key, name: byKey.get(key)?.name ?? (item?.op === 'create' ? item.name : null) ?? '' });
  });
  const more = failed.length - names.length;
  return words(`failed.${verb === 'restore' ? 'other' : verb}`, {
    n: failed.length,
    names: visible(names.join(', ')) + (more > 0 ? ` ${words('failed.more', { n: more })}` : ''),
    why: sentence(failed[0]?.error, words),
  });
}
