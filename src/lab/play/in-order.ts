/**
 * Runs `work` on every item, at most `atOnce` at a time, and passes each outcome to `onDone` in the items' order. Stops
 * after the items under way once `isStopped` returns true. Rejects with the first rejection of `work`, after the others
 * have ended.
 */
export async function runInOrder<T, R>(
  items: readonly T[],
  atOnce: number,
  { work, onDone, isStopped }: InOrder<T, R>,
): Promise<readonly R[]> {
  const results = new Map<number, R>();
  let next = 0;
  let told = 0;
  const tell = () => {
    for (let result = results.get(told); result !== undefined; result = results.get(told)) {
      told += 1;
      onDone(result);
    }
  };
  const worker = async () => {
    while (next < items.length && !isStopped()) {
      const index = next;
      next += 1;
      const item = items[index];
      if (item === undefined) continue;
      results.set(index, await work(item));
      tell();
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
}

interface InOrder<T, R> {
  readonly work: (item: T) => Promise<R>;
  readonly onDone: (result: R) => void;
  readonly isStopped: () => boolean;
}
