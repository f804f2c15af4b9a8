/** Runs work for one key in order, and work for different keys side by side. */
export class PerKeyQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work for any of these keys, and before all later work for them. */
  runAll<T>(keys: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const names = [...new Set(keys)];
    const before = names.flatMap((key) => this.#last.get(key) ?? []);
    const mine = before.length === 0 ? work() : Promise.allSettled(before).then(work);
    for (const key of names) this.#follow(key, mine);
    return mine;
  }

  /** Runs `work` after all earlier work for the same key, even if that failed; without earlier work, in this turn. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#follow(key, mine);
    return mine;
  }

  #follow(key: string, mine: Promise<unknown>): void {
    this.#last.set(key, mine);
    const over = () => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(over, over);
  }
}
