/** A queue of work, of which one portion is carried out at a time. */
export interface Lane<T> {
  add(work: T): void;
  /** Resolves once nothing is being carried out. */
  idle(): Promise<void>;
}

/**
 * Creates a lane that carries out as much waiting work at once as `takeSome` removes from the queue, one portion after
 * the other. `carryOut` must not reject.
 */
export function createLane<T>(
  takeSome: (waiting: T[]) => readonly T[],
  carryOut: (some: readonly T[]) => Promise<void>,
): Lane<T> {
  const waiting: T[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Work that is added in the same turn goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await carryOut(takeSome(waiting));
    // In the same turn as that check; work added later starts another run.
    running = null;
  }

  return {
    add(work) {
      waiting.push(work);
      running ??= run();
    },
    idle: async () => {
      await running;
    },
  };
}
