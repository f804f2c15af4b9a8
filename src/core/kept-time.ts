import type { ClockPort } from './ports.js';

/**
 * Returns a time of day of the past by the monotonic clock; now, where the time of day has been set back since. What is kept beyond
 * the process is a time of day, which is read once: from then on durations go by the clock that nobody sets.
 */
export function onMonotonicClock(clock: ClockPort, past: number): number {
  return clock.monotonic() - Math.max(0, clock.now() - past);
}
