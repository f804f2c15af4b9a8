import { DomainError } from './errors.js';

/** Requests without a credential that may wait at one time. */
const MOST_WAITING = 1_000;
/** Seconds. */
const RETRY_AFTER = 5;

/** Requests without a credential whose answers come from elsewhere, such as one look at a server for all of them. */
export class StrangersWaiting {
  #count = 0;

  /** Throws `tooManyWaiting` where one more would be too many. */
  expectRoom(): void {
    if (this.#count >= MOST_WAITING) throw new DomainError('tooManyWaiting', '', RETRY_AFTER);
  }

  /** Counts one until its answer is there. Rejects with `tooManyWaiting` where that is one too many. */
  async count<T>(answer: Promise<T>): Promise<T> {
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
