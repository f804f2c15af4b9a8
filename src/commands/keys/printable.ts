import { keyDigest } from '../../core/key-digest.js';

/** A key for a terminal: one that cannot be read or typed there by its digest, as `--digest` takes it. */
export function printableKey(accessKey: string): string {
  return accessKey === '' || printable(accessKey) !== accessKey ? `(digest ${keyDigest(accessKey)})` : accessKey;
}

/** A text for a terminal: control characters and what turns the direction of text would let a name write over it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}
