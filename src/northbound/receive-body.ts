import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../core/errors.js';
import { whenBodyTooSlow } from '../sockets/awaited-bodies.js';
import { BODY_BUDGET, createBodyBudget, type HeldBody } from './body-budget.js';

/** Seconds after which a request whose body gave way may be tried again. */
export const DROPPED_RETRY_AFTER = 1;

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Has the app read bodies, whole and as bytes. Those of requests that were let in by a credential are held up to their
 * route's limit; those of all others share one budget, and one that gives way is the error `tooManyBodies`,
 * one that does not come is `bodyTooSlow`. What no route
 * serves has its body neither read nor kept.
 */
export function receiveBodies(app: FastifyInstance): void {
  const budget = createBodyBudget(BODY_BUDGET);
  app.decorateRequest('hasCredential', false);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done: Done) => {
    if (request.is404) done(null);
    else receive(payload, bodyLimitOf(request), done, request.hasCredential ? null : (drop) => budget.open(drop));
  });
}

/** Bytes that the body of this request may have. */
function bodyLimitOf({ routeOptions, hasCredential }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? 0;
  return hasCredential ? limit : Math.min(limit, BODY_BUDGET);
}

function tooLarge(limit: number): DomainError {
  return new DomainError('bodyTooLarge', `at most ${limit} bytes are accepted`);
}

/** Reads at most so many bytes. Once it is told of, nothing of the body is kept any more. */
function receive(
  payload: IncomingMessage,
  limit: number,
  done: Done,
  hold: ((drop: () => void) => HeldBody) | null,
): void {
  if (Number(payload.headers['content-length']) > limit) {
    done(tooLarge(limit));
    return;
  }
  let chunks: Buffer[] = [];
  let length = 0;
  const held = hold?.(() => finish(new DomainError('tooManyBodies'))) ?? null;

  whenBodyTooSlow(payload, () => finish(new DomainError('bodyTooSlow')));

  function finish(error: Error | null): void {
    payload.off('data', take).off('end', end).off('error', fail);
    held?.release();
    const body = error === null ? Buffer.concat(chunks, length) : undefined;
    chunks = [];
    // The rest of it is read all the same, so that the client gets to its answer.
    if (error !== null) payload.on('error', () => undefined).resume();
    done(error, body);
  }
  function take(chunk: Buffer): void {
    length += chunk.length;
    if (length > limit) {
      finish(tooLarge(limit));
      return;
    }
    chunks.push(chunk);
    held?.take(chunk.length);
  }
  function end(): void {
    finish(null);
  }
  function fail(error: Error): void {
    finish(Object.assign(error, { statusCode: 400 }));
  }
  payload.on('data', take).on('end', end).on('error', fail);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** True where it was let in by a credential; false until its body is to be read. */
    hasCredential: boolean;
  }
}
