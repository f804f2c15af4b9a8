import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Milliseconds for which a client that wants its connection closed may keep sending after its answer. */
const LINGER = 5_000;

/**
 * Prepares for an answer that does not wait for the end of the request's body. Closing a connection with unread bytes
 * resets it, and a client or proxy that is still sending would lose the answer; so a close is delayed until the body
 * has come (RFC 9112, 9.6).
 */
export function keepReading(request: IncomingMessage, response: ServerResponse): void {
  const { headers, socket } = request;
  const isEmpty = Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined;
  // An injected request has no connection.
  if (isEmpty || !(socket instanceof Socket)) return;
  // Node reports that it closes only where it closes by itself, in its own listener of this event.
  const { destroySoon } = socket;
  const close = destroySoon.bind(socket);
  response.prependOnceListener('finish', () => {
    socket.destroySoon = () => {
      if (request.complete) {
        close();
        return;
      }
      const late = setTimeout(close, LINGER);
      socket.once('close', () => clearTimeout(late));
      request.once('end', close).resume();
    };
  });
  // Runs after that listener: a connection that is kept would hold every request that was answered on it like this.
  response.once('finish', () => {
    socket.destroySoon = destroySoon;
  });
}
