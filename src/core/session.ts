import type { MaybeAsync } from './maybe-async.js';

/**
 * The single session token of one mount (protocol: "Session token lifecycle"; design: "Several mounts"). If it is held
 * elsewhere, calls that need an answer from there take longer, and fail with `backendAway` without one.
 */
export interface Session {
  /** Holds this token from now on instead of an earlier one. */
  begin(token: string): MaybeAsync<void>;
  end(): MaybeAsync<void>;
  /** Tells whether this is the token held, compared in constant time. */
  matches(token: string): MaybeAsync<boolean>;
  /** Tells whether this process knows a session that has not ended. */
  isHeld(): boolean;
}

/** A session in this process, which knows everything at once. */
export interface LocalSession extends Session {
  begin(token: string): void;
  end(): void;
  matches(token: string): boolean;
}

export function createSession(): LocalSession {
  let held: string | null = null;
  return {
    begin(token) {
      held = token;
    },
    end() {
      held = null;
    },
    matches: (token) => held !== null && equalSecrets(token, held),
    isHeld: () => held !== null,
  };
}

/**
 * Compares a given secret with a kept one, in a time that depends on the kept one's length alone. On texts rather than
 * bytes: to make buffers for Node's own comparison takes longer than a small request's routing.
 */
export function equalSecrets(given: string, kept: string): boolean {
  let difference = given.length ^ kept.length;
  // Past the end of the given secret there is NaN, which counts as 0 here.
  for (let i = 0; i < kept.length; i += 1) difference |= given.charCodeAt(i) ^ kept.charCodeAt(i);
  return difference === 0;
}
