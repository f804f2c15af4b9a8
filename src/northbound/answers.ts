import type { FastifyReply, FastifyRequest } from 'fastify';
import { keepReading } from '../sockets/early-answer.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { commonErrors } from '../wire/errors.js';
import { methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/** The header by which any origin may call (protocol: "Addressing"). */
export const ANY_ORIGIN = ['access-control-allow-origin', '*'] as const;

export function allowAnyOrigin(reply: FastifyReply): void {
  reply.header(...ANY_ORIGIN);
}

/** Sends a failure envelope. */
export function sendFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  allowAnyOrigin(reply);
  return reply.code(status).header('content-type', JSON_TYPE).send(failureEnvelope(error));
}

/** Sends a failure envelope to a request whose body may still be coming: a client that is sending it gets to the answer. */
export function sendEarlyFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  keepReading(reply.request.raw, reply.raw);
  return sendFailure(reply, status, error);
}

/**
 * Refuses a request of which too many come without a credential, for so many seconds, and closes its connection: for a thousand in one packet
 * there is one refusal.
 */
export function sendTooMany(reply: FastifyReply, seconds: number): FastifyReply {
  const { status, text } = commonErrors.tooManyRequests;
  return sendEarlyFailure(reply.headers({ 'retry-after': seconds, connection: 'close' }), status, text);
}

/** Answers 404, or 405 with `Allow` (design: "Unmatched API path"). */
export function answerUnmatched(mounts: readonly Mount[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = methodsAt(mounts, request.url);
  if (methods.length === 0) return sendEarlyFailure(reply, 404, 'not found');
  return sendEarlyFailure(reply.header('allow', methods.join(', ')), 405, notAllowed(methods));
}
