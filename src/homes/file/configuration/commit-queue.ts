import { setImmediate as nextTurn } from 'node:timers/promises';

/** One worker that does everything in the order it came; items that wait side by side are committed together. */
export interface CommitQueue<T, R> {
  /** Resolves after the commit that contains the item, to its result; rejects with the error that it reported for it. */
  add(item: T): Promise<R>;
  /** Runs the task alone, after all that came before it. */
  exclusive<R>(task: () => Promise<R>): Promise<R>;
  busy(): boolean;
  /** Resolves once nothing waits any more. */
  idle(): Promise<void>;
}

interface Item<T, R> {
  readonly kind: 'item';
  readonly item: T;
  readonly settle: (result: Error | R) => void;
}

interface Task {
  readonly kind: 'task';
  readonly run: () => Promise<void>;
}

/**
 * Turns of the event loop that the first commit waits, as long as each brings more. Where requests are written one by one
 * on another core, each turn brings one of them.
 */
const MOST_TURNS = 64;

/** `commit` gives one result per item, an error for one that is not committed. */
export function createCommitQueue<T, R>(
  commit: (items: readonly T[]) => Promise<readonly (Error | R)[]>,
): CommitQueue<T, R> {
  const waiting: (Item<T, R> | Task)[] = [];
  let working: Promise<void> | null = null;

  function start(): void {
    working ??= work().finally(() => {
      working = null;
      // What came after the worker had looked for the last time would wait for the next caller otherwise.
      if (waiting.length > 0) start();
    });
  }

  async function work(): Promise<void> {
    await gathered();
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      if (first.kind === 'task') {
        waiting.shift();
        await first.run();
      } else {
        await commitWaiting();
      }
    }
  }

  /** Requests that arrive together come in a few turns of the event loop: they share the first commit already. */
  async function gathered(): Promise<void> {
    for (let seen = 0, turns = 0; waiting.length > seen && turns < MOST_TURNS; turns++) {
      seen = waiting.length;
      await nextTurn();
    }
  }

  async function commitWaiting(): Promise<void> {
    const items: Item<T, R>[] = [];
    for (let next = waiting[0]; next?.kind === 'item'; next = waiting[0]) {
      items.push(next);
      waiting.shift();
    }
    const results = await commit(items.map(({ item }) => item)).catch((error: unknown) =>
      items.map(() => (error instanceof Error ? error : new Error(String(error)))),
    );
    items.forEach(({ settle }, index) => {
      settle(results[index] ?? new Error('a commit gave no result'));
    });
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({
          kind: 'item',
          item,
          settle: (result) => (result instanceof Error ? reject(result) : resolve(result)),
        });
        start();
      }),
    exclusive: (task) =>
      new Promise((resolve, reject) => {
        waiting.push({ kind: 'task', run: () => task().then(resolve, reject) });
        start();
      }),
    busy: () => working !== null,
    idle: async () => {
      while (working !== null) await working;
    },
  };
}
