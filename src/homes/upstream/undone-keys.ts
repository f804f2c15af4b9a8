import type { LogPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';

/** Makes writes again that the server has lost, one after the other. */
export interface UndoneKeys {
  found(accessKey: string): void;
  idle(): Promise<void>;
}

/** `again` makes the write of one key again where it still is undone. `onDone` is called once all that were found are, or some cannot be yet. */
export function createUndoneKeys(
  again: (accessKey: string) => Promise<void>,
  onDone: () => void,
  log: LogPort,
): UndoneKeys {
  const found = new Set<string>();
  let isFailing = false;
  let working: Promise<void> | null = null;

  async function work(): Promise<void> {
    while (found.size > 0) {
      const those = [...found];
      found.clear();
      const areDone = await allAgain(those);
      if (found.size === 0 || !areDone) onDone();
    }
    working = null;
  }

  async function allAgain(those: readonly string[]): Promise<boolean> {
    let count = 0;
    let reason = '';
    for (const accessKey of those) {
      // It stays undone: the next list that shows it comes back to it.
      await again(accessKey).catch((error: unknown) => {
        count += 1;
        reason = failureWords(error);
      });
    }
    if (count > 0 && !isFailing) log.warn({ count, reason }, 'lost changes could not be made again yet');
    isFailing = count > 0;
    return !isFailing;
  }

  return {
    found(accessKey) {
      found.add(accessKey);
      working ??= Promise.resolve().then(work);
    },
    idle: async () => {
      await working;
    },
  };
}
