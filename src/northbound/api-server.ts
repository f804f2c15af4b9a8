import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CreateServer } from '../sockets/followed-connections.js';
import { createPlain, hostProblem } from '../sockets/http-server.js';
import { plainPage } from '../subscription/answers.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { ANY_ORIGIN } from './answers.js';
import { methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/** The form of a refusal that no route sees, by its status and what is wrong. */
export type Refusal = (
  status: number,
  error: string,
) => {
  /** Names and values in turn. */
  readonly fields: readonly string[];
  readonly body: Buffer;
  /** It has no date, and ends its connection. */
  readonly isBare: boolean;
};

/** The form of the API. */
export const inEnvelope: Refusal = (_status, error) => {
  const body = failureEnvelope(error);
  return {
    fields: [...ANY_ORIGIN, 'content-type', JSON_TYPE, 'content-length', `${body.length}`],
    body,
    isBare: false,
  };
};

/** The form of what is answered where nothing is, so that it tells nothing of what is served. */
export const onPlainPage: Refusal = (status) => {
  const body = plainPage(status);
  return { fields: ['Content-Type', 'text/html', 'Content-Length', `${body.length}`], body, isBare: true };
};

/**
 * Wraps `create` so that its servers give this form to what Node would refuse in its own, before the app sees it: an
 * HTTP/1.1 request without `Host` or with two (RFC 9112, 3.2), an unknown expectation (RFC 9110, 10.1.1), and CONNECT.
 */
export function withRefusals(
  refusal: Refusal,
  mounts: readonly Mount[],
  create: CreateServer = createPlain,
): CreateServer {
  function refuse(response: ServerResponse, status: number, error: string): void {
    const { fields, body, isBare } = refusal(status, error);
    if (isBare) {
      response.sendDate = false;
      response.shouldKeepAlive = false;
    }
    response.writeHead(status, [...fields]);
    response.end(body);
  }
  return (options, listener) => {
    const server = create({ ...options, requireHostHeader: false }, (request, response) => {
      const problem = hostProblem(request);
      if (problem === null) listener(request, response);
      else refuse(response, 400, problem);
    });
    server.on('checkExpectation', (_request, response) => refuse(response, 417, UNKNOWN_EXPECTATION));
    server.on('connect', (request, socket) => {
      const response = answerToConnect(request, socket);
      if (response === null) return;
      const methods = methodsAt(mounts, request.url ?? '');
      if (methods.length === 0) refuse(response, 404, 'not found');
      else refuse(response.setHeader('allow', methods.join(', ')), 405, notAllowed(methods));
    });
    return server;
  };
}

/** Makes the answer to a CONNECT; while an earlier one is still being sent, it closes the connection and returns null. */
function answerToConnect(request: IncomingMessage, socket: Duplex): ServerResponse | null {
  // Node has removed its own listener.
  socket.on('error', () => socket.destroy());
  if (!(socket instanceof Socket) || answerUnderWay(socket) !== null) {
    socket.destroy();
    return null;
  }
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  response.once('finish', () => socket.destroySoon());
  response.shouldKeepAlive = false;
  return response;
}

const UNKNOWN_EXPECTATION = 'the expectation is not known: expected "Expect: 100-continue" or none';

const ANSWERS: Readonly<Record<string, readonly [status: number, error: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: [431, 'the request header is too large'],
};

/** Connections that end once the answers under way on them are sent. */
const ending = new WeakSet<Socket>();

/**
 * Answers what the HTTP parser refused, and closes the connection: there is no request that a route could see. Answers
 * to earlier requests go out first.
 */
export function answerBroken(refusal: Refusal, error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (ending.has(socket)) return;
  ending.add(socket);
  const [status, text] = ANSWERS[error.code ?? ''] ?? [400, 'the request is no HTTP'];
  const { fields, body } = refusal(status, text);
  const lines = [...fields, 'Connection', 'close'].map((part, index) => part + (index % 2 === 0 ? ': ' : '\r\n'));
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
  endBehindAnswers(socket, Buffer.concat([Buffer.from(head), body]));
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
