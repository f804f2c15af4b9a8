/** One write at a time: real servers store a change while another call has their file in hand. */
export interface WriteQueue {
  /** Begins when everything before is over, failed or not. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Those that wait, the one under way included. */
  readonly length: number;
  /** Resolves when nothing is under way or waits. */
  idle(): Promise<void>;
}

export function createWriteQueue(): WriteQueue {
  let last: Promise<unknown> = Promise.resolve();
  let length = 0;
  return {
    take(work) {
      length += 1;
      const mine = last.then(work).finally(() => {
        length -= 1;
      });
      last = mine.catch(() => undefined);
      return mine;
    },
    get length() {
      return length;
    },
    async idle() {
      while (length > 0) await last;
    },
  };
}
