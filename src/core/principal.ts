/** The presets, sets of operations that a credential allows, the smallest first. */
export const PRESETS = ['status', 'relay', 'create', 'keys', 'all'] as const;

export type Preset = (typeof PRESETS)[number];

/** A caller who has shown a credential. */
export interface Principal {
  /** `static`, `session` or `terminal`, or the name of a token; the key of records about a credential. */
  readonly name: string;
  readonly may: Preset;
  /** Distinguishes the token from a later one of the same name; absent for other credentials. */
  readonly token?: string;
}

/** The holder of the mount's static token. */
export const STATIC: Principal = { name: 'static', may: 'all' };

/** The holder of a mount's session. */
export const SESSION: Principal = { name: 'session', may: 'all' };

/** A command on this machine, authorized by the permissions of the socket. */
export const TERMINAL: Principal = { name: 'terminal', may: 'all' };

/** Tells whether a caller may do what these presets allow; `all` allows everything. */
export function permits({ may }: Principal, presets: readonly Preset[]): boolean {
  return may === 'all' || presets.includes(may);
}
