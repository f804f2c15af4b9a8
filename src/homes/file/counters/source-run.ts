import { DomainError } from '../../../core/errors.js';
import { onMonotonicClock } from '../../../core/kept-time.js';
import type { ClockPort } from '../../../core/ports.js';
import type { SourceRun } from '../../../core/posted-counters.js';

/** The run of a source that is counted at present. */
export type KnownRun =
  | { readonly kind: 'epoch'; readonly epoch: bigint }
  /** The begin by the age that it told, in milliseconds of any clock that only rises; and that age, in seconds. */
  | { readonly kind: 'uptime'; readonly startedAt: number; readonly uptimeSeconds: bigint };

/** The most that two ages of one run may differ: they are told in whole seconds, and a post takes its time. Milliseconds. */
const TOLERANCE = 5_000;
/** No post is on its way for longer; milliseconds. */
const LONGEST_DELAY = 60_000;

/** Returns a run that was kept with the time of day of its begin: it told its age in the past. */
export function keptRun(run: Age, clock: ClockPort): Age {
  return { ...run, startedAt: onMonotonicClock(clock, run.startedAt + milliseconds(run)) - milliseconds(run) };
}

/** The run that a post tells of, at the time of its arrival. */
export function runAt(run: SourceRun, now: number): KnownRun {
  if (run.kind === 'epoch') return run;
  const { uptimeSeconds } = run;
  return { kind: 'uptime', startedAt: now - Number(uptimeSeconds) * 1000, uptimeSeconds };
}

/**
 * Compares a post's run with the known one: it is the same, one that began later, or one that has ended. Throws
 * `invalidBody` where they are told in different ways.
 */
export function comparedRun(known: KnownRun, posted: KnownRun): 'same' | 'later' | 'ended' {
  if (known.kind === 'epoch' && posted.kind === 'epoch') return order(posted.epoch - known.epoch);
  if (known.kind === 'uptime' && posted.kind === 'uptime') return comparedAges(known, posted);
  const [expected, given] = known.kind === 'epoch' ? ['epoch', 'uptime_seconds'] : ['uptime_seconds', 'epoch'];
  throw new DomainError('invalidBody', `${given}: expected ${expected}, as in the posts of this source before`);
}

function order(difference: bigint): 'same' | 'later' | 'ended' {
  if (difference === 0n) return 'same';
  return difference > 0n ? 'later' : 'ended';
}

type Age = Extract<KnownRun, { kind: 'uptime' }>;

function comparedAges(known: Age, posted: Age): 'same' | 'later' | 'ended' {
  const later = posted.startedAt - known.startedAt;
  if (Math.abs(later) <= TOLERANCE) return 'same';
  // A run that began after the last post began at least that post's age later; anything less is a post that was held up.
  if (later > 0) return later < milliseconds(known) - TOLERANCE ? 'same' : 'later';
  // The post before may have been held up, so that the run seemed younger than it is. One of an earlier run had ended by then.
  return posted.uptimeSeconds >= known.uptimeSeconds && milliseconds(posted) > -later + LONGEST_DELAY
    ? 'same'
    : 'ended';
}

/** The same run after another post: it began no later than any of them says. */
export function sameRun(known: KnownRun, posted: KnownRun): KnownRun {
  if (known.kind !== 'uptime' || posted.kind !== 'uptime') return known;
  return { ...posted, startedAt: Math.min(known.startedAt, posted.startedAt) };
}

function milliseconds({ uptimeSeconds }: Age): number {
  return Number(uptimeSeconds) * 1000;
}
