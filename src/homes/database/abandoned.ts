import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between questions whether the database is still at work. */
const AGAIN = 1_000;

/**
 * Statements that were given up before they were answered. A closed socket ends none that waits for a lock or a standby: each
 * keeps its connection, and with it the place, until it is answered or `stillRunning` no more names it.
 */
export class AbandonedStatements {
  readonly #stillRunning: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Frees the place of each statement, by its id. */
  readonly #kept = new Map<string, () => void>();
  #isAsking = false;

  constructor(stillRunning: (ids: readonly string[]) => Promise<ReadonlySet<string>>) {
    this.#stillRunning = stillRunning;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Calls `free` once the statement is over; `answered` settles when the database or the connection says so. */
  keep(id: string, answered: Promise<unknown>, free: () => void): void {
    this.#kept.set(id, free);
    const over = () => this.#free(id);
    answered.then(over, over);
    if (!this.#isAsking) void this.#ask();
  }

  freeAll(): void {
    for (const id of [...this.#kept.keys()]) this.#free(id);
  }

  #free(id: string): void {
    const free = this.#kept.get(id);
    if (!this.#kept.delete(id)) return;
    free?.();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#kept.size > 0) {
      // Also before the first: what was sent may be on its way. Nobody who closes waits for it.
      await pause(AGAIN, undefined, { ref: false });
      const ids = [...this.#kept.keys()];
      if (ids.length === 0) break;
      const running = await this.#stillRunning(ids).catch(() => new Set(ids));
      for (const id of ids) if (!running.has(id)) this.#free(id);
    }
    this.#isAsking = false;
  }
}
