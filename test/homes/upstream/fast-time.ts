import type { ClockPort } from '../../../src/core/ports.js';
import { systemTimers, type TimersPort } from '../../../src/homes/upstream/timers.js';
import { systemClock } from '../../../src/platform/system-ports.js';

/** A clock that goes so many times faster than the real one, from the moment of its making. */
export function createFastClock(factor: number): ClockPort {
  const began = { now: systemClock.now(), monotonic: systemClock.monotonic() };
  return {
    now: () => began.now + (systemClock.now() - began.now) * factor,
    monotonic: () => began.monotonic + (systemClock.monotonic() - began.monotonic) * factor,
  };
}

/** Waiting that goes by as fast. */
export function createFastTimers(factor: number): TimersPort {
  return {
    ...systemTimers,
    after: (milliseconds, run) => systemTimers.after(milliseconds / factor, run),
    wait: (milliseconds) => systemTimers.wait(milliseconds / factor),
  };
}
