import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClockPort } from '../core/ports.js';
import type { OperationName } from '../wire/operations.js';
import type { Mount } from './mount.js';
import type { RequestLog } from './request-log.js';

/**
 * The subject of a request. `v1.…`: a call of Keyway's own interface. `subscription`: one by its token, known or not. `other`: preflights, and
 * what no mount serves.
 */
export type Asked = OperationName | `v1.${string}` | 'panel' | 'subscription' | 'other';

/** The end of a login; `waiting`: the guard had the caller wait, and the password was not looked at. */
export type LoginOutcome = 'begun' | 'refused' | 'waiting';

/** Told of one answer: its status, and the milliseconds from the request's head to it, without the sending of a long one. */
export type AnswerObserver = (status: number, milliseconds: number) => void;

/** Told of every answer to a request that was understood as HTTP, and of logins; for metrics. Nothing of it may throw. */
export interface RequestsObserver {
  /** Asked once for everything that can be asked for. The mount is null for `other`. */
  answersTo(asked: Asked, mount: Mount | null): AnswerObserver;
  login(mount: Mount, outcome: LoginOutcome): void;
}

type Handler<Request extends FastifyRequest> = (request: Request, reply: FastifyReply) => unknown;

/** The observing of one route. Called directly: the framework's own hook for it costs a tenth of a small answer. */
export interface RouteObserver {
  /** The request begins; to be called where that is before its handler. */
  begun(request: FastifyRequest): void;
  /** It has its answer, and not by the handler. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** The same handler, observed. When it fails, whoever answers then is to say so. */
  around<Request extends FastifyRequest>(handler: Handler<Request>): Handler<Request>;
}

/** Gives what observes a route: nothing, at no cost, when there is neither observer nor log. */
export type Observing = (asked: Asked, mount: Mount | null) => RouteObserver;

const NOBODY: RouteObserver = { begun() {}, answered() {}, around: (handler) => handler };

export function createObserving(
  observer: RequestsObserver | null,
  log: RequestLog | null,
  clock: ClockPort,
): Observing {
  if (observer === null && log === null) return () => NOBODY;
  return (asked, mount) => observeRoute(observer?.answersTo(asked, mount) ?? null, log, clock);
}

function observeRoute(told: AnswerObserver | null, log: RequestLog | null, clock: ClockPort): RouteObserver {
  function begun(request: FastifyRequest): void {
    if (request.begunAt !== null) return;
    request.begunAt = clock.monotonic();
    log?.begun(request);
  }
  function answered(request: FastifyRequest, reply: FastifyReply): void {
    const now = clock.monotonic();
    told?.(reply.raw.statusCode, now - (request.begunAt ?? now));
    log?.answered(request, reply);
  }
  return {
    begun,
    answered,
    around: (handler) => (request, reply) => {
      begun(request);
      const result = handler(request, reply);
      if (!(result instanceof Promise)) {
        answered(request, reply);
        return result;
      }
      return result.then((value) => {
        answered(request, reply);
        return value;
      });
    },
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Milliseconds of the monotonic clock; null where nobody observes. */
    begunAt: number | null;
  }
  interface FastifyContextConfig {
    /** Told when the framework answers in the handler's place. */
    readonly observer?: RouteObserver;
  }
}
