import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Milliseconds that a client which wants its connection closed may go on sending behind its answer. */
const LINGER = 5_000;

/**
 * To be called before an answer that does not wait for the end of the request's body. A connection that is closed with
 * bytes unread is reset, and a client or proxy that is still sending would lose the answer: where it is to be closed behind
 * the answer, that waits until the body has come (RFC 9112, 9.6).
 */
export function keepReading(request: IncomingMessage, response: ServerResponse): void {
  const { headers, socket } = request;
  const isEmpty = Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined;
  // An injected request has no connection.
  if (isEmpty || !(socket instanceof Socket)) return;
  // Node says that it closes only where it does so itself, in its own listener of this event.
  response.prependOnceListener('finish', () => {
    const close = socket.destroySoon.bind(socket);
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
}
