import type { ClockPort } from '../../../src/core/ports.js';
import type { TimersPort } from '../../../src/homes/upstream/timers.js';

/** Time that a test moves: nothing happens until it does, and then everything in order. */
export interface World {
  readonly clock: ClockPort;
  readonly timers: TimersPort;
  /** Resolves when so many milliseconds have passed here. */
  sleep(milliseconds: number): Promise<void>;
  /** Lets so many milliseconds pass, with all that happens in them. */
  pass(milliseconds: number): Promise<void>;
  /** Lets time pass until the promise is settled; rejects as it does, or when that takes more than an hour. */
  until<T>(promise: Promise<T>): Promise<T>;
}

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** After so long, ms, each further step takes a real ms. */
const LONG = 60_000;
/** How far time goes on at once, ms, and for how long, in real ms, it stands still before it goes further. */
const SOON = 120_000;
const PATIENCE = 5_000;

/** What waits for a turn of the real event loop has had it. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

const aRealMillisecond = () => new Promise((resolve) => setTimeout(resolve, 1));

export function createWorld(): World {
  let now = 1_000;
  let order = 0;
  let due: Due[] = [];

  function after(milliseconds: number, run: () => void): () => void {
    const mine = { at: now + milliseconds, order: order++, run };
    due.push(mine);
    return () => {
      due = due.filter((each) => each !== mine);
    };
  }

  const sleep = (milliseconds: number) => new Promise<void>((resolve) => void after(milliseconds, resolve));

  /** Runs what comes next, unless that is later than the time given. */
  async function next(until: number): Promise<boolean> {
    const [first] = due.toSorted((a, b) => a.at - b.at || a.order - b.order);
    if (first === undefined || first.at > until) return false;
    due = due.filter((each) => each !== first);
    now = Math.max(now, first.at);
    first.run();
    await settled();
    return true;
  }

  return {
    clock: { now: () => 1_700_000_000_000 + now, monotonic: () => now },
    timers: { after, wait: sleep, pause: () => new Promise((resolve) => setImmediate(resolve)) },
    sleep,
    async pass(milliseconds) {
      await settled();
      const until = now + milliseconds;
      while (await next(until));
      now = until;
    },
    async until(promise) {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      promise.then(over, over);
      const begun = now;
      const last = begun + 3_600_000;
      await settled();
      for (let real = 0; !isOver && now < last; ) {
        const soon = Math.min(last, now + SOON);
        // What is awaited may be at work outside of this time, as compression is.
        if (now > begun + LONG) await aRealMillisecond();
        if (await next(soon)) real = 0;
        else if (real++ < PATIENCE) await aRealMillisecond();
        else if (!(await next(last))) await settled();
      }
      return promise;
    },
  };
}
