import gte from 'semver/functions/gte.js';

/** The first release whose servers read a `password_hash` of PBKDF2, and write no other (read in their source). */
const PBKDF2_SINCE = '0.4.7-beta.5';

/** Tells whether servers of a version read `pbkdf2-sha256$…`; older ones accept no login with it. */
export function readsPbkdf2(version: string): boolean {
  return gte(version, PBKDF2_SINCE);
}
