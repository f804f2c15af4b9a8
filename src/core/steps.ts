/** Work in pieces that are each done in some milliseconds: a generator that pauses between them and returns the result. */
export type Steps<Result> = Generator<void, Result, void>;

/** Does all of the work in this turn of the event loop. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Does a piece of the work a turn of the event loop, so that others are answered meanwhile. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
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

/** Lets long works go on by turns: one piece of one of them a turn of the event loop, however many there are. */
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

  /** Does all of a work. */
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
