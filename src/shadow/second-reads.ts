import type { Answer, Caller } from '../client/call.js';
import { passedHeaders } from './ask-shadow.js';
import type { Passed } from './traffic.js';

/** Each so many reads, one is asked of the target twice more, at most once in so many milliseconds. */
const EACH = 50;
const PAUSE = 1_000;

/** Asks the target now and then what a client has just read, to learn what differs by itself. */
export class SecondReads {
  readonly #caller: Caller;
  readonly #now: () => number;
  #reads = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(caller: Caller, now: () => number) {
    this.#caller = caller;
    this.#now = now;
  }

  /**
   * Resolves to two answers, one right after the other: the client's own is older, and what was written meanwhile is no noise. Null where none
   * are to be had now.
   */
  async of(passed: Passed): Promise<readonly [Answer, Answer] | null> {
    this.#reads += 1;
    if (this.#reads % EACH !== 1 || this.#now() - this.#askedAt < PAUSE) return null;
    this.#askedAt = this.#now();
    const { method, path } = passed;
    const headers = passedHeaders(passed, passed.requestHeaders.get('authorization'));
    const ask = () => this.#caller.send({ method, path, headers, body: undefined });
    try {
      return [await ask(), await ask()];
    } catch {
      return null;
    }
  }
}
