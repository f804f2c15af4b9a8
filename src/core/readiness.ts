/** Where a gateway is in its life. `ready`: everything listens and the configuration is loaded. */
export type Phase = 'starting' | 'ready' | 'stopping';

/** Whether a gateway takes requests, for whoever supervises it. */
export interface Readiness {
  phase(): Phase;
  becomes(phase: Phase): void;
}

/** Begins as `starting`. */
export function createReadiness(): Readiness {
  let present: Phase = 'starting';
  return {
    phase: () => present,
    becomes(phase) {
      present = phase;
    },
  };
}
