import type { FastifyReply, FastifyRequest } from 'fastify';
import { keepReading } from '../sockets/early-answer.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { commonErrors } from '../wire/errors.js';
import { allowAnyOrigin, answerOptions } from './cors.js';
import { isApiPath, methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/** Sends a failure envelope. */
export function sendFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  allowAnyOrigin(reply);
  return reply.code(status).header('content-type', JSON_TYPE).send(failureEnvelope(error));
}

/** Refuses a request of which too many come without a credential, for so many seconds. */
export function sendTooMany(reply: FastifyReply, seconds: number): FastifyReply {
  const { status, text } = commonErrors.tooManyRequests;
  return sendFailure(reply.header('retry-after', seconds), status, text);
}

/** Sends a failure envelope to a request whose body may still be coming: a client that is sending it gets to the answer. */
export function sendEarlyFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  keepReading(reply.request.raw, reply.raw);
  return sendFailure(reply, status, error);
}

/**
 * 404, or 405 with `Allow` (design: "Unmatched API path"). OPTIONS is answered wherever a path is served, and a
 * preflight anywhere below an API that hides nothing, so that a page of another origin can read that 404.
 */
export function answerUnmatched(mounts: readonly Mount[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = methodsAt(mounts, request.url);
  const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
  const open = mounts.filter(({ hidesRest }) => !hidesRest);
  if (isPreflight && isApiPath(open, request.url)) return answerOptions(request, reply, methods);
  if (methods.length === 0) return sendEarlyFailure(reply, 404, 'not found');
  if (request.method === 'OPTIONS') return answerOptions(request, reply, methods);
  return sendEarlyFailure(reply.header('allow', methods.join(', ')), 405, notAllowed(methods));
}
