import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { ANY_ORIGIN } from './answers.js';

const ANSWERS: Readonly<Record<string, readonly [status: string, error: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the request header is too large'],
};

/** Connections that end behind the answers that are under way on them. */
const ending = new WeakSet<Socket>();

/**
 * Answers what the HTTP parser refused with an envelope, and closes: there is no request that a route could see. Where
 * requests before it wait for their answers, these go out first.
 */
export function answerBrokenConnections(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (ending.has(socket)) return;
  ending.add(socket);
  const [status, text] = ANSWERS[error.code ?? ''] ?? ['400 Bad Request', 'the request is no HTTP'];
  const body = failureEnvelope(text);
  const head = [
    `HTTP/1.1 ${status}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${body.length}`,
    ANY_ORIGIN.join(': '),
    'connection: close',
  ];
  endBehindAnswers(socket, Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
}

function endBehindAnswers(socket: Socket, farewell: Buffer): void {
  const answer = answerUnderWay(socket);
  if (answer === null) socket.end(farewell);
  // The request that is broken has one, too, which never comes.
  else if (answer.req.complete) answer.once('close', () => endBehindAnswers(socket, farewell));
  else if (answer.headersSent) socket.destroySoon();
  else socket.end(farewell);
}

/** The answer that a connection is taken by, or null; Node's own answer to a broken request looks there, too, and it has no public name. */
export function answerUnderWay(
  socket: Socket & { readonly _httpMessage?: ServerResponse | null },
): ServerResponse | null {
  return socket._httpMessage ?? null;
}
