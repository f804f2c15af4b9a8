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

/** Keys or values that are worked on in one piece: that takes some milliseconds. */
const PIECE = 5_000;

/** The elements in pieces of so many, read as they are asked for. */
export function* pieces<T>(all: Iterable<T>, size = PIECE): Generator<readonly T[], void> {
  let piece: T[] = [];
  for (const one of all) {
    if (piece.push(one) < size) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}
