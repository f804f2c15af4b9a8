import { DomainError } from './errors.js';
import type { MaybeAsync } from './maybe-async.js';

/** Requests without a credential that may wait at one time. */
const MOST_WAITING = 1_000;
/** Seconds. */
const RETRY_AFTER = 5;

/** Counts requests without a credential whose answers come from elsewhere, such as from a server. */
export class StrangersWaiting {
  #count = 0;

  /** Throws `tooManyWaiting` if there is no room for one more. */
  expectRoom(): void {
    if (this.#count >= MOST_WAITING) throw new DomainError('tooManyWaiting', '', RETRY_AFTER);
  }

  /**
   * Counts a request until its answer is there; one that is there already needs no room. Rejects with `tooManyWaiting`
   * if there is none.
   */
  count<T>(answer: MaybeAsync<T>): MaybeAsync<T> {
    return answer instanceof Promise ? this.#countUntil(answer) : answer;
  }

  async #countUntil<T>(answer: Promise<T>): Promise<T> {
    try {
      this.expectRoom();
    } catch (error) {
      answer.catch(() => undefined);
      throw error;
    }
    this.#count += 1;
    try {
      return await answer;
    } finally {
      this.#count -= 1;
    }
  }
}
