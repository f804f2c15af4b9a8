import { hash, timingSafeEqual } from 'node:crypto';

/** The single session token of one mount (spec: "Session token lifecycle"; design: "several mounts"). */
export interface Session {
  /** Holds this token from now on; an earlier one stops being accepted. */
  begin(token: string): void;
  end(): void;
  /** Whether this is the token held, compared in constant time. */
  matches(token: string): boolean;
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
  };
}

/** Compares two secrets without telling by its time where they differ or how long they are. */
export function equalSecrets(left: string, right: string): boolean {
  return timingSafeEqual(hash('sha256', left, 'buffer'), hash('sha256', right, 'buffer'));
}

/** Lowercase hexadecimal SHA-256 of a password (spec: Login, rule 3). */
export function passwordDigest(password: string): string {
  return hash('sha256', password);
}
