import { setTimeout as sleep } from 'node:timers/promises';

/** Waiting, as the state behind a server uses it; tests bring their own. */
export interface TimersPort {
  /** Calls back after some milliseconds; returns the function that prevents it. Does not keep the process alive. */
  after(milliseconds: number, run: () => void): () => void;
  /** Resolves after some milliseconds. Keeps the process alive, because what awaits it has no other hold on it. */
  wait(milliseconds: number): Promise<void>;
  /** Lets whatever else waits for its turn of the event loop have it. */
  pause(): Promise<void>;
}

export const systemTimers: TimersPort = {
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds).unref();
    return () => clearTimeout(timer);
  },
  wait: (milliseconds) => sleep(milliseconds),
  pause: () => new Promise((resolve) => setImmediate(resolve)),
};
