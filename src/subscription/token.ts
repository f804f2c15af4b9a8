import { hash } from 'node:crypto';

const TOKEN_BYTES = 16;
const TOKEN = /^[\da-f]{32}$/i;

/** The token of a key in the address of its subscription: it is the key's for ever, and tells nothing of it. */
export function subscriptionToken(accessKey: string): string {
  return hash('sha256', `ostp-subscription:${accessKey}`, 'buffer').toString('hex', 0, TOKEN_BYTES);
}

/** The token that a text is, in lowercase; null for another text. */
export function tokenIn(text: string): string | null {
  return TOKEN.test(text) ? text.toLowerCase() : null;
}
