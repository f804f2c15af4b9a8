import type { Socket } from 'node:net';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';

const ANSWERS: Readonly<Record<string, readonly [status: string, error: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the request header is too large'],
};

/** Answers what the HTTP parser refused with an envelope, and closes: there is no request that a route could see. */
export function answerBrokenConnections(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, text] = ANSWERS[error.code ?? ''] ?? ['400 Bad Request', 'the request is no HTTP'];
  const body = failureEnvelope(text);
  const head = [
    `HTTP/1.1 ${status}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${body.length}`,
    'access-control-allow-origin: *',
    'connection: close',
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
}
