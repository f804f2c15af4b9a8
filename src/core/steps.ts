import { setImmediate } from 'node:timers/promises';

/** Work in pieces that are each done in some milliseconds: a generator that pauses between them and returns the result. */
export type Steps<Result> = Generator<void, Result, void>;

/** Does all of the work in this turn of the event loop. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does a piece of the work a turn of the event loop, so that others are answered meanwhile. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await setImmediate();
  }
}
