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

/** Counts the values that work in steps has come past: `if (pace.isDue()) yield;`. */
export class Pace {
  #left = PIECE;

  /** Counts one value more, or work that is worth so many. True at the end of a piece. */
  isDue(values = 1): boolean {
    this.#left -= values;
    if (this.#left > 0) return false;
    this.#left = PIECE;
    return true;
  }
}

/** Sorts texts by their code units, in steps. */
export function* sortedSteps(texts: readonly string[]): Steps<readonly string[]> {
  if (texts.length <= PIECE) return texts.toSorted();
  const half = texts.length >> 1;
  const one = yield* sortedSteps(texts.slice(0, half));
  const other = yield* sortedSteps(texts.slice(half));
  const merged: string[] = [];
  for (let at = 0; merged.length < texts.length; ) {
    if (merged.length % PIECE === 0) yield;
    const [first, second] = [one[at], other[merged.length - at]];
    if (first !== undefined && (second === undefined || first <= second)) {
      merged.push(first);
      at += 1;
    } else if (second !== undefined) merged.push(second);
  }
  return merged;
}

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
