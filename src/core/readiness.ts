/** The stage of a gateway's life. `ready`: everything listens and the configuration is loaded. */
export type Phase = 'starting' | 'ready' | 'stopping';

/** Tells supervisors whether a gateway takes requests. */
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
