import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type CreateServer, createPlain, hostProblem } from '../sockets/http-server.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { ANY_ORIGIN } from './answers.js';
import { answerUnderWay } from './broken-connection.js';
import { methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/**
 * The same servers, answering with an envelope what Node would refuse without one, before the app sees it: a request of
 * HTTP/1.1 without `Host` or with two (RFC 9112, 3.2), an expectation that is not known (RFC 9110, 10.1.1), and CONNECT.
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

/** Answers behind nothing: while an answer before it is still on its way, the connection ends without one. */
function refuseConnect(mounts: readonly Mount[], request: IncomingMessage, socket: Duplex): void {
  // Node has taken its own listener away.
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
