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

/** Compares a given secret with a kept one, without telling by its time where they differ or how long they are. */
export function equalSecrets(given: string, kept: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), digestOf(kept));
}

/** Kept secrets are compared with at every request and are few; hashing them anew would double its cost. */
const MOST_DIGESTS = 64;
const digests = new Map<string, Buffer>();

function digestOf(kept: string): Buffer {
  const known = digests.get(kept);
  if (known !== undefined) return known;
  if (digests.size >= MOST_DIGESTS) digests.clear();
  const digest = hash('sha256', kept, 'buffer');
  digests.set(kept, digest);
  return digest;
}

/** Lowercase hexadecimal SHA-256 of a password (spec: Login, rule 3). */
export function passwordDigest(password: string): string {
  return hash('sha256', password);
}
