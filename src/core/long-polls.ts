/** Calls of one credential that may wait at one time. */
const MOST_OF_ONE = 256;

/** Counts the calls that wait for something to happen, by whose they are. */
export class LongPolls {
  readonly #byOwner = new Map<string, number>();

  /** Begins one, and returns what ends it; null where its owner has too many. */
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
