import { createStore } from '../store/store.js';

/** An item that failed, and why. */
export interface Failed<T> {
  readonly item: T;
  readonly error: unknown;
}

/** The progress of a batch. */
export interface BatchState<T> {
  readonly total: number;
  readonly done: number;
  readonly failed: readonly Failed<T>[];
  readonly running: boolean;
  readonly stopped: boolean;
}

/** Requests under way at once: enough to let a server group its writes, few enough to stop soon. */
const AT_ONCE = 6;

/** Does one thing after another to each item, several at once. A failure of one does not hold up the others. */
export function runBatch<T>(items: readonly T[], act: (item: T) => Promise<unknown>) {
  const failed: Failed<T>[] = [];
  const state = createStore<BatchState<T>>({
    total: items.length,
    done: 0,
    failed,
    running: true,
    stopped: false,
  });
  let next = 0;
  const worker = async () => {
    while (next < items.length && !state.get().stopped) {
      const item = items[next];
      next += 1;
      if (item === undefined) return;
      try {
        await act(item);
        state.patch({ done: state.get().done + 1 });
      } catch (error) {
        failed.push({ item, error });
        state.patch({ failed });
      }
    }
  };
  const finished = Promise.all(Array.from({ length: AT_ONCE }, worker)).then(() => {
    state.patch({ running: false });
    return state.get();
  });
  /** Lets what has been sent finish, and sends nothing more. */
  const stop = () => state.patch({ stopped: true });
  return { state, stop, finished };
}

export type Batch<T> = ReturnType<typeof runBatch<T>>;
