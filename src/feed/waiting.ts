import type { AdmissionReader } from '../core/keys/admission-log.js';

/** Readers that wait for a change of who is admitted. */
export interface Waiting {
  /** Resolves at the next change, after so many milliseconds, when the signal says so, or when all are released. */
  until(milliseconds: number, gone: AbortSignal): Promise<void>;
  /** Lets everybody go, now and from now on. */
  release(): void;
}

export function createWaiting(admissions: AdmissionReader): Waiting {
  const waiting = new Set<() => void>();
  let released = false;

  return {
    until(milliseconds, gone) {
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
    release() {
      released = true;
      for (const finish of [...waiting]) finish();
    },
  };
}
