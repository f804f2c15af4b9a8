import { hash, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { equalSecrets } from './session.js';

/** Lowercase hexadecimal SHA-256 of a password's UTF-8 (protocol: "Login"), which servers of every line read. */
export function sha256Hash(password: string): string {
  return hash('sha256', password);
}

const PBKDF2 = 'pbkdf2-sha256';
/** The form that servers from 0.4.7 on write. */
const ITERATIONS = 300_000;
export const SALT_BYTES = 16;
/** More would be minutes of a processor for each guess; servers take no more either. */
const MOST_ITERATIONS = 10_000_000;
const HASH_BYTES = 32;

const SHA256_FORM = /^[0-9a-f]{64}$/i;
const PBKDF2_FORM = /^pbkdf2-sha256\$(\d{1,8})\$((?:[0-9a-f]{2})+)\$([0-9a-f]{64})$/i;

const derive = promisify(pbkdf2);

/** The form of servers from 0.4.7 on: `pbkdf2-sha256$<iterations>$<salt>$<hash>`, salt and hash in hexadecimal. */
export async function pbkdf2Hash(password: string, salt: Buffer): Promise<string> {
  const derived = await derive(password, salt, ITERATIONS, HASH_BYTES, 'sha256');
  return [PBKDF2, ITERATIONS, salt.toString('hex'), derived.toString('hex')].join('$');
}

/** Tells whether a hash is, or means to be, of the form that takes long to compare with. */
export function isPbkdf2(kept: string): boolean {
  return kept.startsWith(PBKDF2);
}

/** Tells whether any password can be the one of this hash. */
export function isPasswordHash(kept: string): boolean {
  return isPbkdf2(kept) ? partsOf(kept) !== null : SHA256_FORM.test(kept);
}

/** Tells at once whether a password is that of a kept hash; false for one of the slow form. */
export function isPassword(password: string, kept: string): boolean {
  return SHA256_FORM.test(kept) && equalSecrets(sha256Hash(password), kept.toLowerCase());
}

/** The same for a hash of the slow form, off the event loop. */
export async function isPbkdf2Password(password: string, kept: string): Promise<boolean> {
  const parts = partsOf(kept);
  if (parts === null) return false;
  const derived = await derive(password, parts.salt, parts.iterations, HASH_BYTES, 'sha256');
  return equalSecrets(derived.toString('hex'), parts.derived);
}

function partsOf(kept: string) {
  const [, count = '', salt = '', derived = ''] = PBKDF2_FORM.exec(kept) ?? [];
  const iterations = Number(count);
  if (derived === '' || iterations < 1 || iterations > MOST_ITERATIONS || !isPbkdf2(kept)) return null;
  return { iterations, salt: Buffer.from(salt, 'hex'), derived: derived.toLowerCase() };
}
