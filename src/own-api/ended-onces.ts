import type { KeptRecords } from '../core/kept-records.js';
import { isOnce, onceIn } from './job-records.js';

/** The most that is kept for one owner, so that no owner fills the records. */
export const MOST_OF_OWNER = 10_000;

/**
 * Uses of `Idempotency-Key`s that have ended, by their owners, as they came: what is over is found without a look at
 * all.
 */
export class EndedOnces {
  readonly #records: KeptRecords;
  /** The times of their ends by their records, of each owner. */
  readonly #byOwner = new Map<string, Map<string, number>>();
  readonly #owners = new Map<string, string>();

  constructor(records: KeptRecords) {
    this.#records = records;
    this.take([...records.of('jobs').keys()]);
  }

  /** Takes in changed records. */
  take(ids: readonly string[]): void {
    for (const id of ids) {
      if (!isOnce(id)) continue;
      this.#forget(id);
      const { endedAt, owner = '' } = onceIn(this.#records, id) ?? {};
      if (endedAt === undefined) continue;
      const own = this.#byOwner.get(owner) ?? new Map<string, number>();
      this.#byOwner.set(owner, own.set(id, endedAt));
      this.#owners.set(id, owner);
    }
  }

  /** The records of those that ended before this time, and of the oldest of too many. */
  over(before: number): readonly string[] {
    const over: string[] = [];
    for (const own of this.#byOwner.values()) {
      let count = own.size;
      for (const [id, endedAt] of own) {
        if (endedAt >= before && count <= MOST_OF_OWNER) break;
        over.push(id);
        count -= 1;
      }
    }
    return over;
  }

  #forget(id: string): void {
    const owner = this.#owners.get(id);
    if (owner === undefined) return;
    this.#owners.delete(id);
    const own = this.#byOwner.get(owner);
    own?.delete(id);
    if (own?.size === 0) this.#byOwner.delete(owner);
  }
}
