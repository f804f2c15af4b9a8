import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type CreateServer, createPlain } from '../sockets/http-server.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/**
 * The same servers, answering with an envelope what Node would refuse without one, before the app sees it: a request of
 * HTTP/1.1 without `Host` (RFC 9112, 3.2), an expectation that is not known (RFC 9110, 10.1.1), and CONNECT.
 */
export function withEnvelopes(mounts: readonly Mount[], create: CreateServer = createPlain): CreateServer {
  return (options, listener) => {
    const server = create({ ...options, requireHostHeader: false }, (request, response) => {
      if (request.headers.host === undefined && request.httpVersion === '1.1') refuse(response, 400, NO_HOST);
      else listener(request, response);
    });
    server.on('checkExpectation', (_request, response) => refuse(response, 417, UNKNOWN_EXPECTATION));
    server.on('connect', (request, socket) => {
      if (!(socket instanceof Socket)) return;
      socket.on('error', () => socket.destroy());
      const response = new ServerResponse(request);
      response.assignSocket(socket);
      response.once('finish', () => socket.destroySoon());
      response.setHeader('connection', 'close');
      const methods = methodsAt(mounts, request.url ?? '');
      if (methods.length === 0) return refuse(response, 404, 'not found');
      refuse(response.setHeader('allow', methods.join(', ')), 405, notAllowed(methods));
    });
    return server;
  };
}

const NO_HOST = 'the request has no Host header';
const UNKNOWN_EXPECTATION = 'the expectation is not known: expected "Expect: 100-continue" or none';

function refuse(response: ServerResponse, status: number, error: string): void {
  const body = failureEnvelope(error);
  response.writeHead(status, {
    'access-control-allow-origin': '*',
    'content-type': JSON_TYPE,
    'content-length': body.length,
  });
  response.end(body);
}
