import type { ClockPort } from '../core/ports.js';

/** Milliseconds. Of one Ctrl-C the terminal and a program in between, such as npm, each send a signal. */
const SAME_REQUEST = 1_000;

/** The effect of a signal that asks to end: begin the end, nothing, or end at once. */
export type StopStep = 'begin' | 'none' | 'at once';

/** Tells signals apart: the first begins a clean end, and another one a second later or more has no patience with it. */
export function createStopSteps(clock: ClockPort): () => StopStep {
  let begun: number | null = null;
  return () => {
    if (begun === null) {
      begun = clock.monotonic();
      return 'begin';
    }
    return clock.monotonic() - begun < SAME_REQUEST ? 'none' : 'at once';
  };
}
