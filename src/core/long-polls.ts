/** Seconds that a proxy waits for an answer before it gives up, as a rule 60, less what the way takes. */
const LONGEST_HELD = 55;

/** Returns the milliseconds for which an answer is held back where its caller would wait for `seconds`. */
export const heldFor = (seconds: number): number => Math.min(seconds, LONGEST_HELD) * 1000;

/** Calls of one credential that may wait at one time. */
const MOST_OF_ONE = 256;

/** Counts waiting calls, by credential. */
export class LongPolls {
  readonly #byOwner = new Map<string, number>();

  /** Begins a waiting call, and returns the function that ends it; null if its owner has too many. */
  begin(owner: string): (() => void) | null {
    const count = this.#byOwner.get(owner) ?? 0;
    if (count >= MOST_OF_ONE) return null;
    this.#byOwner.set(owner, count + 1);
    return () => {
      const left = (this.#byOwner.get(owner) ?? 1) - 1;
      if (left === 0) this.#byOwner.delete(owner);
      else this.#byOwner.set(owner, left);
    };
  }
}
