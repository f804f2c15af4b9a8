/** Work in steps, between which the browser may have its turn; it ends with its result. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds of work in one task: a page that stands still for longer than 50 ms is felt. */
const TURN = 12;

/** Does all of the work at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Does the work in turns with the browser. Resolves to null where the signal ends it before. */
export async function inTurns<T>(steps: Steps<T>, signal: AbortSignal): Promise<T | null> {
  let began = performance.now();
  while (!signal.aborted) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - began < TURN) continue;
    await nextTask();
    began = performance.now();
  }
  return null;
}

/** Resolves in a task of its own, without the pause that timers make. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
