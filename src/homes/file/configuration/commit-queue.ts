import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConfigurationChange } from '../../../core/model.js';

interface WaitingChange {
  readonly change: ConfigurationChange;
  readonly settle: (result: Error | ConfigurationChange) => void;
}

/** Gives one result per change: what was written with it, or why it was not. */
type Commit = (changes: readonly ConfigurationChange[]) => Promise<readonly (Error | ConfigurationChange)[]>;

/**
 * Turns of the event loop that the first commit waits, as long as each brings more. Where requests are written one by one
 * on another core, each turn brings one of them.
 */
const MOST_TURNS = 64;

/** One worker that does everything in the order it came; changes that wait side by side are committed together. */
export class CommitQueue {
  readonly #commit: Commit;
  readonly #waiting: (WaitingChange | (() => Promise<void>))[] = [];
  #working: Promise<void> | null = null;

  constructor(commit: Commit) {
    this.#commit = commit;
  }

  /** Resolves after the commit that contains the change, to its result; rejects with the error that it reported for it. */
  add(change: ConfigurationChange): Promise<ConfigurationChange> {
    return new Promise((resolve, reject) => {
      const settle = (result: Error | ConfigurationChange) =>
        result instanceof Error ? reject(result) : resolve(result);
      this.#waiting.push({ change, settle });
      this.#start();
    });
  }

  /** Runs the task alone, after all that came before it. */
  exclusive<R>(task: () => Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => task().then(resolve, reject));
      this.#start();
    });
  }

  busy(): boolean {
    return this.#working !== null;
  }

  /** Resolves once nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  #start(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
      // A change that came after the worker had looked for the last time would wait for the next caller otherwise.
      if (this.#waiting.length > 0) this.#start();
    });
  }

  async #work(): Promise<void> {
    await this.#gathered();
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      if (typeof first === 'function') {
        this.#waiting.shift();
        await first();
      } else await this.#commitWaiting();
    }
  }

  /** Requests that arrive together come in a few turns of the event loop: they share the first commit already. */
  async #gathered(): Promise<void> {
    for (let seen = 0, turns = 0; this.#waiting.length > seen && turns < MOST_TURNS; turns++) {
      seen = this.#waiting.length;
      await nextTurn();
    }
  }

  async #commitWaiting(): Promise<void> {
    const items: WaitingChange[] = [];
    for (let [next] = this.#waiting; next !== undefined && typeof next !== 'function'; [next] = this.#waiting) {
      items.push(next);
      this.#waiting.shift();
    }
    const results = await this.#commit(items.map(({ change }) => change)).catch((error: unknown) =>
      items.map(() => (error instanceof Error ? error : new Error(String(error)))),
    );
    items.forEach(({ settle }, index) => {
      settle(results[index] ?? new Error('a commit gave no result'));
    });
  }
}
