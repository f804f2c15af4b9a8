import type { MaybeAsync } from './maybe-async.js';

/**
 * The single session token of one mount (protocol: "Session token lifecycle"; design: "Several mounts"). Where somebody else
 * holds it, what needs an answer from there comes later, and fails with `backendAway` where there is none.
 */
export interface Session {
  /** Holds this token from now on; an earlier one stops being accepted. */
  begin(token: string): MaybeAsync<void>;
  end(): MaybeAsync<void>;
  /** Tells whether this is the token held, compared in constant time. */
  matches(token: string): MaybeAsync<boolean>;
  /** Tells whether a session is known here that has not ended. */
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
  // Behind the end of the given one there is NaN, which counts as 0 here.
  for (let i = 0; i < kept.length; i += 1) difference |= given.charCodeAt(i) ^ kept.charCodeAt(i);
  return difference === 0;
}
