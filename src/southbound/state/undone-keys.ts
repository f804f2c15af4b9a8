import type { LogPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';

/** Makes writes again that the server has lost, one after the other. */
export interface UndoneKeys {
  found(accessKey: string): void;
  idle(): Promise<void>;
}

/** `again` makes the write of one key again where it still is undone. `onDone` is called once all that were found are. */
export function createUndoneKeys(
  again: (accessKey: string) => Promise<void>,
  onDone: () => void,
  log: LogPort,
): UndoneKeys {
  const found = new Set<string>();
  let working: Promise<void> | null = null;

  async function work(): Promise<void> {
    for (const accessKey of found) {
      found.delete(accessKey);
      // It stays undone: the next list that shows it comes back to it.
      await again(accessKey).catch((error: unknown) => {
        log.warn({ reason: failureWords(error) }, 'a lost change could not be made again yet');
      });
    }
    working = null;
    onDone();
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
