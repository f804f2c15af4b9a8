import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClockPort } from '../core/ports.js';
import type { OperationName } from '../wire/operations.js';
import type { Mount } from './mount.js';
import type { RequestLog } from './request-log.js';

/**
 * The subject of a request. `v1.…`: a call of Keyway's own interface. `subscription`: a subscription by its token,
 * known or not. `other`: a preflight, or a path that no mount serves.
 */
export type Asked = OperationName | `v1.${string}` | 'panel' | 'subscription' | 'other';

/** The outcome of a login; `waiting`: the guard kept the caller waiting, and the password was not compared. */
export type LoginOutcome = 'begun' | 'refused' | 'waiting';

/**
 * Called with an answer's status, and the milliseconds from the request's head to the answer, without the sending of a
 * long one.
 */
export type AnswerObserver = (status: number, milliseconds: number) => void;

/** Observes every answer to a request that was understood as HTTP, and logins, for metrics. It must not throw. */
export interface RequestsObserver {
  /** Returns the observer of one kind of request; called once for each. The mount is null for `other`. */
  answersTo(asked: Asked, mount: Mount | null): AnswerObserver;
  login(mount: Mount, outcome: LoginOutcome): void;
}

type Handler<Request extends FastifyRequest> = (request: Request, reply: FastifyReply) => unknown;

/** Observes one route. Called directly, because the framework's hook would take a tenth of a small answer. */
export interface RouteObserver {
  /** Records that the request begins; called where that happens before its handler. */
  begun(request: FastifyRequest): void;
  /** Records an answer that did not come from the handler. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** Wraps a handler so that it is observed. If it fails, the code that answers instead reports the answer. */
  around<Request extends FastifyRequest>(handler: Handler<Request>): Handler<Request>;
}

/** Returns what observes a route: an empty observer, which costs nothing, if there is neither observer nor log. */
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
    around: (handler) => async (request, reply) => {
      begun(request);
      const result = await handler(request, reply);
      answered(request, reply);
      return result;
    },
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Milliseconds of the monotonic clock; null if the request is not observed. */
    begunAt: number | null;
  }
  interface FastifyContextConfig {
    /** Called when the framework answers in the handler's place. */
    readonly observer?: RouteObserver;
  }
}
