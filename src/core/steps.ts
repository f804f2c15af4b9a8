/**
 * Work in pieces that are each done in some milliseconds: a generator that pauses between them and returns the result.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** Does all the work in this turn of the event loop. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Does one piece of the work per turn of the event loop, so that other requests are answered in between. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}

/** Keys or values that are worked on in one piece: that takes some milliseconds. */
const PIECE = 5_000;

/** Counts the values that work in steps has processed: `if (pace.isDue()) yield;`. */
export class Pace {
  #left = PIECE;

  /** Counts one more value, or work worth several. Returns true at the end of a piece. */
  isDue(values = 1): boolean {
    this.#left -= values;
    if (this.#left > 0) return false;
    this.#left = PIECE;
    return true;
  }
}

/** Interleaves long tasks: each turn of the event loop does one piece of one of them. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isTurning = false;

  /** Resolves when it is the caller's turn to do a piece. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isTurning) this.#turn();
    });
  }

  /** Does all of a task. */
  async run<Result>(steps: Steps<Result>): Promise<Result> {
    for (;;) {
      await this.next();
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  #turn(): void {
    this.#isTurning = this.#waiting.length > 0;
    if (!this.#isTurning) return;
    setImmediate(() => {
      this.#waiting.shift()?.();
      this.#turn();
    });
  }
}

/** Sorts in steps, and stably. */
export function* sortedSteps<T>(items: readonly T[], compare: (one: T, other: T) => number): Steps<readonly T[]> {
  if (items.length <= PIECE) return items.toSorted(compare);
  const half = items.length >> 1;
  const one = yield* sortedSteps(items.slice(0, half), compare);
  const other = yield* sortedSteps(items.slice(half), compare);
  const merged: T[] = [];
  for (let at = 0; merged.length < items.length; ) {
    if (merged.length % PIECE === 0) yield;
    const [first, second] = [one[at], other[merged.length - at]];
    if (first !== undefined && (second === undefined || compare(first, second) <= 0)) {
      merged.push(first);
      at += 1;
    } else if (second !== undefined) merged.push(second);
  }
  return merged;
}

/** Orders texts by their code units. */
export const byCodeUnits = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Maps values in steps. */
export function* mappedSteps<T, Made>(items: Iterable<T>, make: (item: T) => Made, pace: Pace): Steps<Made[]> {
  const made: Made[] = [];
  for (const item of items) {
    made.push(make(item));
    if (pace.isDue()) yield;
  }
  return made;
}

/** Yields the elements in pieces, each read when it is asked for. */
export function* pieces<T>(all: Iterable<T>, size = PIECE): Generator<readonly T[], void> {
  let piece: T[] = [];
  for (const one of all) {
    if (piece.push(one) < size) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}
