import type { ChangeReader } from './change-log.js';

export type Waiting = ReturnType<typeof createWaiting>;

/** Calls that wait for the next change. */
export function createWaiting({ onChange }: Pick<ChangeReader, 'onChange'>) {
  const waiting = new Set<() => void>();
  let isReleased = false;

  return {
    get isReleased(): boolean {
      return isReleased;
    },
    /** Resolves at the next change, after `milliseconds`, when the signal aborts, or when all are released. */
    until(milliseconds: number, gone: AbortSignal): Promise<void> {
      if (isReleased || gone.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer);
          stopListening();
          waiting.delete(finish);
          gone.removeEventListener('abort', finish);
          resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        const stopListening = onChange(finish);
        waiting.add(finish);
        gone.addEventListener('abort', finish);
      });
    },
    /** Releases all waiting calls, and every later one at once. */
    release(): void {
      isReleased = true;
      for (const finish of [...waiting]) finish();
    },
  };
}
