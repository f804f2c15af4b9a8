import { hash, timingSafeEqual } from 'node:crypto';

/** The single session token of one mount (spec: "Session token lifecycle"; design: "several mounts"). */
export interface Session {
  /** Holds this token from now on; an earlier one stops being accepted. */
  begin(token: string): void;
  end(): void;
  /** Whether this is the token held, compared in constant time. */
  matches(token: string): boolean;
  /** Whether there is a session that is not ended. */
  isHeld(): boolean;
}

export function createSession(): Session {
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
 * Compares a given secret with a kept one, in a time that tells nothing of where they differ. Not by their digests: two of
 * them would cost more than all else about a small request.
 */
export function equalSecrets(given: string, kept: string): boolean {
  const expected = Buffer.from(kept);
  const candidate = Buffer.alloc(expected.length);
  candidate.write(given);
  const isEqual = timingSafeEqual(candidate, expected);
  return isEqual && Buffer.byteLength(given) === expected.length;
}

/** Lowercase hexadecimal SHA-256 of a password (spec: Login, rule 3). */
export function passwordDigest(password: string): string {
  return hash('sha256', password);
}
