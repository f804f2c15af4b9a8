import { createHash } from 'node:crypto';

/**
 * Returns an access key's name in logs: the first 8 hexadecimal digits of its SHA-256 (design: "Secrets in logs").
 * Enough to follow one key through a log, and nothing that admits a client.
 */
export function keyDigest(accessKey: string): string {
  return createHash('sha256').update(accessKey, 'utf8').digest('hex').slice(0, 8);
}

/** Tells whether a word is this key's name in logs. */
export function isDigestOf(word: string, accessKey: string): boolean {
  return DIGEST.test(word) && keyDigest(accessKey) === word;
}

const DIGEST = /^[0-9a-f]{8}$/;
