import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../core/errors.js';
import { whenBodyTooSlow } from '../sockets/awaited-bodies.js';
import { type BodyDone, receiveBody } from '../sockets/receive-body.js';
import { BODY_BUDGET, createBodyBudget } from './body-budget.js';

/** Seconds after which the client of a dropped body may try again. */
export const DROPPED_RETRY_AFTER = 1;

type BodyBudget = ReturnType<typeof createBodyBudget>;

/**
 * Makes the app read whole bodies, as bytes. A request with an accepted credential may use its route's limit. All
 * others share one budget: a body that gives way fails with `tooManyBodies`, one that stalls with `bodyTooSlow`. The
 * body of a request without a route is not read.
 */
export function receiveBodies(app: FastifyInstance): void {
  const budget = createBodyBudget(BODY_BUDGET);
  app.decorateRequest('hasCredential', false);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done: BodyDone) => {
    if (request.is404) done(null);
    else receive(request, payload, budget, done);
  });
}

/** Returns the most bytes that this request's body may have. */
function bodyLimitOf({ routeOptions, hasCredential }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? 0;
  return hasCredential ? limit : Math.min(limit, BODY_BUDGET);
}

/** Reads this request's body; without a credential, the shared budget or the pace may end it early. */
function receive(request: FastifyRequest, payload: IncomingMessage, budget: BodyBudget, done: BodyDone): void {
  const held = request.hasCredential ? null : budget.open(() => giveUp(new DomainError('tooManyBodies')));
  const options = { limit: bodyLimitOf(request), taken: (bytes: number) => held?.take(bytes) };
  const giveUp = receiveBody(payload, options, (error, body) => {
    held?.release();
    done(error, body);
  });
  whenBodyTooSlow(payload, () => giveUp(new DomainError('bodyTooSlow')));
}

declare module 'fastify' {
  interface FastifyRequest {
    /** True once a credential was accepted; false until the body is due. */
    hasCredential: boolean;
  }
}
