/** The presets of what a credential lets its holder do, over the tables of operations, the least first. */
export const PRESETS = ['status', 'relay', 'create', 'keys', 'all'] as const;

export type Preset = (typeof PRESETS)[number];

/** A caller who has shown a credential. */
export interface Principal {
  /** `static`, `session` or `terminal`, or the name of a token. What is kept for a credential is kept by it. */
  readonly name: string;
  readonly may: Preset;
  /** Tells the token from one that is made later under its name; absent for other credentials. */
  readonly token?: string;
}

/** The holder of the mount's static token. */
export const STATIC: Principal = { name: 'static', may: 'all' };

/** The holder of a mount's session. */
export const SESSION: Principal = { name: 'session', may: 'all' };

/** A command on this machine, let in by the rights of the socket. */
export const TERMINAL: Principal = { name: 'terminal', may: 'all' };

/** Tells whether a caller may do what these presets allow; `all` allows everything. */
export function permits({ may }: Principal, presets: readonly Preset[]): boolean {
  return may === 'all' || presets.includes(may);
}
