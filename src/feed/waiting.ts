import type { AdmissionReader } from '../core/keys/admission-log.js';

export function createWaiting(admissions: AdmissionReader) {
  const waiting = new Set<() => void>();
  let released = false;

  return {
    /** Resolves at the next change, after so many milliseconds, when the signal says so, or when all are released. */
    until(milliseconds: number, gone: AbortSignal): Promise<void> {
      if (released || gone.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer);
          stopListening();
          waiting.delete(finish);
          gone.removeEventListener('abort', finish);
          resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        const stopListening = admissions.onChange(finish);
        waiting.add(finish);
        gone.addEventListener('abort', finish);
      });
    },
    /** Lets everybody go, now and from now on. */
    release(): void {
      released = true;
      for (const finish of [...waiting]) finish();
    },
  };
}
