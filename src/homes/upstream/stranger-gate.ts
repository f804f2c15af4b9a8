import { DomainError } from '../../core/errors.js';

export type StrangerGate = ReturnType<typeof createStrangerGate>;

/** The most connections to the server for strangers, so that callers always have the others. */
const MOST_AT_ONCE = 2;
const MOST_WAITING = 50;
/** Seconds. */
const RETRY_AFTER = 5;

/** Calls to the server that need no credential. */
export function createStrangerGate() {
  let underWay = 0;
  const waiting: (() => void)[] = [];

  async function enter(): Promise<void> {
    if (underWay < MOST_AT_ONCE) {
      underWay += 1;
      return;
    }
    if (waiting.length >= MOST_WAITING) throw new DomainError('tooManyWaiting', '', RETRY_AFTER);
    await new Promise<void>((resolve) => void waiting.push(resolve));
  }

  /** Its place goes to the next one that waits. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) underWay -= 1;
    else next();
  }

  return {
    async take<T>(call: () => Promise<T>): Promise<T> {
      await enter();
      try {
        return await call();
      } finally {
        leave();
      }
    },
  };
}
