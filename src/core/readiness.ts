/** The stage of a gateway's life. `ready`: everything listens and the configuration is loaded. */
export type Phase = 'starting' | 'ready' | 'stopping';

export type Readiness = ReturnType<typeof createReadiness>;

/** Tells supervisors whether a gateway takes requests. Begins as `starting`. */
export function createReadiness() {
  let present: Phase = 'starting';
  return {
    phase: (): Phase => present,
    becomes(phase: Phase): void {
      present = phase;
    },
  };
}
