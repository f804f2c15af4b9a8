/** Waiting, as the state behind a server uses it; tests bring their own. */
export interface TimersPort {
  /** Calls back after so many milliseconds; returns what prevents it. It keeps no process alive. */
  after(milliseconds: number, run: () => void): () => void;
  /** Lets whatever else waits for its turn of the event loop have it. */
  pause(): Promise<void>;
}

export const systemTimers: TimersPort = {
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds).unref();
    return () => clearTimeout(timer);
  },
  pause: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Resolves after so many milliseconds. */
export function waiting(timers: TimersPort, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(milliseconds, resolve);
  });
}
