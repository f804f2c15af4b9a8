import { setImmediate as nextTurn } from 'node:timers/promises';

/** One worker that does everything in the order it came; items that wait side by side are committed together. */
export interface CommitQueue<T> {
  /** Resolves after the commit that contains the item; rejects with what that commit reported for it. */
  add(item: T): Promise<void>;
  /** Runs the task alone, after all that came before it. */
  exclusive<R>(task: () => Promise<R>): Promise<R>;
  /** Items that are not committed yet, in their order, those on their way first. */
  uncommitted(): readonly T[];
  busy(): boolean;
  /** Resolves once nothing waits any more. */
  idle(): Promise<void>;
}

interface Item<T> {
  readonly kind: 'item';
  readonly item: T;
  readonly settle: (error: Error | null) => void;
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

/** `commit` gives one result per item: null when it is committed, else its error. */
export function createCommitQueue<T>(
  commit: (items: readonly T[]) => Promise<readonly (Error | null)[]>,
): CommitQueue<T> {
  const waiting: (Item<T> | Task)[] = [];
  let onTheirWay: readonly Item<T>[] = [];
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
    const items: Item<T>[] = [];
    for (let next = waiting[0]; next?.kind === 'item'; next = waiting[0]) {
      items.push(next);
      waiting.shift();
    }
    onTheirWay = items;
    const results = await commit(items.map(({ item }) => item)).catch((error: unknown) =>
      items.map(() => (error instanceof Error ? error : new Error(String(error)))),
    );
    onTheirWay = [];
    items.forEach(({ settle }, index) => {
      settle(results[index] ?? null);
    });
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ kind: 'item', item, settle: (error) => (error === null ? resolve() : reject(error)) });
        start();
      }),
    exclusive: (task) =>
      new Promise((resolve, reject) => {
        waiting.push({ kind: 'task', run: () => task().then(resolve, reject) });
        start();
      }),
    uncommitted: () => [...onTheirWay, ...waiting.filter((entry) => entry.kind === 'item')].map(({ item }) => item),
    busy: () => working !== null,
    idle: async () => {
      while (working !== null) await working;
    },
  };
}
