import type { Server } from 'node:http';

/**
 * Has a client that ends its side after its request get the answer (RFC 9293, 3.6: a half-closed connection). Node ends its
 * own side at once otherwise, whatever is under way; so it goes on doing where nothing is, and after the last answer.
 */
export function allowHalfClose(server: Server & { httpAllowHalfOpen?: boolean; allowHalfOpen?: boolean }): void {
  server.httpAllowHalfOpen = true;
  // Plain servers have it; with TLS it is for the connection below.
  server.allowHalfOpen = true;
}
