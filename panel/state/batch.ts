import { createStore, type Store } from '../store/store.js';

/** What could not be done, and why. */
export interface Failed<T> {
  readonly item: T;
  readonly error: unknown;
}

/** How far a batch is. */
export interface BatchState<T> {
  readonly total: number;
  readonly done: number;
  readonly failed: readonly Failed<T>[];
  readonly running: boolean;
  readonly stopped: boolean;
}

export interface Batch<T> {
  readonly state: Store<BatchState<T>>;
  /** Lets what has been sent finish, and sends nothing more. */
  stop(): void;
  readonly finished: Promise<BatchState<T>>;
}

/** Requests under way at once: enough to let a server group its writes, few enough to stop soon. */
const AT_ONCE = 6;

/** Does one thing after another to each item, several at once. A failure of one does not hold up the others. */
export function runBatch<T>(items: readonly T[], act: (item: T, index: number) => Promise<unknown>): Batch<T> {
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
      const index = next;
      next += 1;
      const item = items[index];
      if (item === undefined) return;
      try {
        await act(item, index);
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
  return { state, stop: () => state.patch({ stopped: true }), finished };
}
