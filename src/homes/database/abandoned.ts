import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between two questions whether the database is still running a statement. */
const AGAIN = 1_000;

/**
 * Keeps statements that were given up before they were answered. Closing a socket does not end one that waits for a
 * lock or a standby: each keeps its connection, and the connection's place, until it is answered or `stillRunning` no
 * longer lists it.
 */
export class AbandonedStatements {
  readonly #stillRunning: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Frees the place of each statement, by id. */
  readonly #kept = new Map<string, () => void>();
  #isAsking = false;

  constructor(stillRunning: (ids: readonly string[]) => Promise<ReadonlySet<string>>) {
    this.#stillRunning = stillRunning;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Calls `free` once the statement is over; `answered` settles when the database or the connection reports that. */
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
      // Even before the first question, because the statement may still be in transit. Closing does not wait for this.
      await pause(AGAIN, undefined, { ref: false });
      const ids = [...this.#kept.keys()];
      if (ids.length === 0) break;
      const running = await this.#stillRunning(ids).catch(() => new Set(ids));
      for (const id of ids) if (!running.has(id)) this.#free(id);
    }
    this.#isAsking = false;
  }
}
