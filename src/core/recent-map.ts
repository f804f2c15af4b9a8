/** A map with a maximum size: an entry too many removes those that were set longest ago. */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number;
  readonly #sizeOf: (key: Key, value: Value) => number;
  #total = 0;

  /** `sizeOf` tells what an entry counts, by default 1. */
  constructor(most: number, sizeOf: (key: Key, value: Value) => number = () => 1) {
    super();
    this.#most = most;
    this.#sizeOf = sizeOf;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    this.#total += this.#sizeOf(key, value);
    for (const oldest of this.keys()) {
      if (this.#total <= this.#most) break;
      this.delete(oldest);
    }
    return this;
  }

  override delete(key: Key): boolean {
    const value = this.get(key);
    const isThere = super.delete(key);
    if (isThere) this.#total -= this.#sizeOf(key, value as Value); // It was there.
    return isThere;
  }

  override clear(): void {
    super.clear();
    this.#total = 0;
  }
}
