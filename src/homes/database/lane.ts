/** Work that waits, and some of it on its way. */
export interface Lane<T> {
  add(work: T): void;
  /** Resolves once nothing is on its way. */
  idle(): Promise<void>;
}

/** Hands over what waits, as much at once as `takeSome` removes from it, one after the other. `carryOut` never rejects. */
export function createLane<T>(
  takeSome: (waiting: T[]) => readonly T[],
  carryOut: (some: readonly T[]) => Promise<void>,
): Lane<T> {
  const waiting: T[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Work that comes in the same turn goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await carryOut(takeSome(waiting));
    // In the same turn as that look: what comes later begins anew.
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
