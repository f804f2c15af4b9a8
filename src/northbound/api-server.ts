import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CreateServer } from '../sockets/followed-connections.js';
import { createPlain, hostProblem } from '../sockets/http-server.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { ANY_ORIGIN } from './answers.js';
import { methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/**
 * Wraps `create` so that its servers answer with an envelope what Node would refuse without one, before the app sees
 * it: an HTTP/1.1 request without `Host` or with two (RFC 9112, 3.2), an unknown expectation (RFC 9110, 10.1.1), and
 * CONNECT.
 */
export function withEnvelopes(mounts: readonly Mount[], create: CreateServer = createPlain): CreateServer {
  return (options, listener) => {
    const server = create({ ...options, requireHostHeader: false }, (request, response) => {
      const problem = hostProblem(request);
      if (problem === null) listener(request, response);
      else refuse(response, 400, problem);
    });
    server.on('checkExpectation', (_request, response) => refuse(response, 417, UNKNOWN_EXPECTATION));
    server.on('connect', (request, socket) => refuseConnect(mounts, request, socket));
    return server;
  };
}

/** Refuses a CONNECT; while an earlier answer is still being sent, it closes the connection without an answer. */
function refuseConnect(mounts: readonly Mount[], request: IncomingMessage, socket: Duplex): void {
  // Node has removed its own listener.
  socket.on('error', () => socket.destroy());
  if (!(socket instanceof Socket) || answerUnderWay(socket) !== null) {
    socket.destroy();
    return;
  }
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  response.once('finish', () => socket.destroySoon());
  response.setHeader('connection', 'close');
  const methods = methodsAt(mounts, request.url ?? '');
  if (methods.length === 0) refuse(response, 404, 'not found');
  else refuse(response.setHeader('allow', methods.join(', ')), 405, notAllowed(methods));
}

const UNKNOWN_EXPECTATION = 'the expectation is not known: expected "Expect: 100-continue" or none';

function refuse(response: ServerResponse, status: number, error: string): void {
  const body = failureEnvelope(error);
  response.setHeader(...ANY_ORIGIN);
  response.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': body.length });
  response.end(body);
}

const ANSWERS: Readonly<Record<string, readonly [status: string, error: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the request header is too large'],
};

/** Connections that end once the answers under way on them are sent. */
const ending = new WeakSet<Socket>();

/**
 * Answers what the HTTP parser refused with an envelope, and closes the connection: there is no request that a route
 * could see. Answers to earlier requests go out first.
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
  // The broken request has an answer object, too, but its request never becomes complete.
  else if (answer.req.complete) answer.once('close', () => endBehindAnswers(socket, farewell));
  else if (answer.headersSent) socket.destroySoon();
  else socket.end(farewell);
}

/**
 * Returns the answer that is using a connection, or null. Node's own reply to a broken request reads the same member,
 * which has no public name.
 */
function answerUnderWay(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): ServerResponse | null {
  return socket._httpMessage ?? null;
}
