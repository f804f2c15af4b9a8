import { createStore, type Store } from '../store/store.js';

/** How far a batch is. */
export interface BatchState {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  /** The first failure. */
  readonly error: unknown;
  readonly running: boolean;
  readonly stopped: boolean;
}

export interface Batch {
  readonly state: Store<BatchState>;
  /** Lets what has been sent finish, and sends nothing more. */
  stop(): void;
  readonly finished: Promise<BatchState>;
}

/** Requests under way at once: enough to let a server group its writes, few enough to stop soon. */
const AT_ONCE = 6;

/** Does one thing after another to each item, several at once. A failure of one does not hold up the others. */
export function runBatch<T>(items: readonly T[], act: (item: T, index: number) => Promise<unknown>): Batch {
  const state = createStore<BatchState>({
    total: items.length,
    done: 0,
    failed: 0,
    error: null,
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
        const { failed, error: first } = state.get();
        state.patch({ failed: failed + 1, error: first ?? error });
      }
    }
  };
  const finished = Promise.all(Array.from({ length: AT_ONCE }, worker)).then(() => {
    state.patch({ running: false });
    return state.get();
  });
  return { state, stop: () => state.patch({ stopped: true }), finished };
}
