export type WriteQueue = ReturnType<typeof createWriteQueue>;

/** One write at a time: real servers store a change while another call has their file in hand. */
export function createWriteQueue() {
  let last: Promise<unknown> = Promise.resolve();
  let length = 0;
  return {
    take<T>(work: () => Promise<T>): Promise<T> {
      length += 1;
      const mine = last.then(work).finally(() => {
        length -= 1;
      });
      last = mine.catch(() => undefined);
      return mine;
    },
    /** The number of writes that wait, the one under way included. */
    get length() {
      return length;
    },
    /** Resolves when nothing is under way or waits. */
    async idle(): Promise<void> {
      while (length > 0) await last;
    },
  };
}
