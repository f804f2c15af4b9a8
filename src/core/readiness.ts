/** Where a gateway is in its life. `ready`: everything listens and the configuration is loaded. */
export type Phase = 'starting' | 'ready' | 'stopping';

/** Whether a gateway takes requests, for whoever supervises it. */
export interface Readiness {
  phase(): Phase;
  becomes(phase: Phase): void;
  /** Called at once with every other phase that comes. */
  onChange(listener: (phase: Phase) => void): void;
}

/** Begins as `starting`. */
export function createReadiness(): Readiness {
  const listeners: ((phase: Phase) => void)[] = [];
  let present: Phase = 'starting';
  return {
    phase: () => present,
    becomes(phase) {
      if (phase === present) return;
      present = phase;
      for (const listener of listeners) listener(phase);
    },
    onChange(listener) {
      listeners.push(listener);
    },
  };
}
