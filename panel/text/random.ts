import { hexOf } from './sha256.js';

/** Returns 32 random hexadecimal digits: a new key, or the name by which a call is done once however often it is sent. */
export function randomHex(): string {
  return hexOf(crypto.getRandomValues(new Uint32Array(4)));
}
