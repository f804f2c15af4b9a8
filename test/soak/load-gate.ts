/** Lets many change a thing at once, or one replace the whole of it while nobody else changes it. */
export interface Gate {
  among<T>(work: () => Promise<T>): Promise<T>;
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** An edit by hand reads a file and writes all of it back: what others write in between is lost, by no fault of theirs. */
export function createGate(): Gate {
  let working = 0;
  let closed: Promise<void> | null = null;
  let emptied: (() => void) | null = null;

  return {
    async among(work) {
      while (closed !== null) await closed;
      working += 1;
      try {
        return await work();
      } finally {
        working -= 1;
        if (working === 0) emptied?.();
      }
    },
    async alone(work) {
      while (closed !== null) await closed;
      let open = () => {};
      closed = new Promise((resolve) => {
        open = resolve;
      });
      try {
        if (working > 0) {
          await new Promise<void>((resolve) => {
            emptied = resolve;
          });
        }
        return await work();
      } finally {
        emptied = null;
        closed = null;
        open();
      }
    },
  };
}
