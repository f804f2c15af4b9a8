import type { IncomingMessage, ServerResponse } from 'node:http';

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
  if (response.shouldKeepAlive || isEmpty) return;
  response.shouldKeepAlive = true;
  response.once('finish', () => {
    if (request.complete) {
      socket.destroySoon();
      return;
    }
    const late = setTimeout(() => socket.destroySoon(), LINGER);
    socket.once('close', () => clearTimeout(late));
    request.once('end', () => socket.destroySoon()).resume();
  });
}
