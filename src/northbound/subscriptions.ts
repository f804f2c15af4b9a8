import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import { keepReading } from '../sockets/early-answer.js';
import { DECOYED, type SubscriptionDoor, type SubscriptionOutcome } from '../subscription/door.js';
import { sendTooMany } from './answers.js';
import { methodsAt, originForm } from './matching.js';
import type { Mount } from './mount.js';
import type { RouteObserver } from './request-observer.js';
import type { StrangerRate } from './stranger-rate.js';

/** Subscriptions by token, as one listener serves them. */
export interface ServedSubscriptions {
  readonly door: SubscriptionDoor;
  /** True where every path that nothing serves is answered like an unknown token. */
  readonly hidesRest: boolean;
}

export interface SubscriptionContext {
  readonly mounts: readonly Mount[];
  readonly observer: RouteObserver;
  readonly rate: StrangerRate;
}

/** Answers a request that no mount serves; calls `leave` instead where it is for nobody here, with what went wrong if anything did. */
export type AnswerSubscription = (request: FastifyRequest, reply: FastifyReply, leave: (error?: Error) => void) => void;

/**
 * Has the app answer subscriptions where nothing else is served, before the body of a request has come. The prefix may become
 * another while Keyway runs, so that it is no route.
 */
export function serveSubscriptions(
  app: FastifyInstance,
  { door, hidesRest }: ServedSubscriptions,
  { mounts, observer, rate }: SubscriptionContext,
): AnswerSubscription {
  const settle = (
    request: FastifyRequest,
    reply: FastifyReply,
    answer: () => MaybeAsync<SubscriptionOutcome>,
  ): MaybeAsync<void> => {
    observer.begun(request);
    const wait = rate.retryAfter(request.raw);
    if (wait !== null) {
      sendTooMany(reply, wait);
      observer.answered(request, reply);
      return undefined;
    }
    return mapMaybeAsync(answer(), (outcome) => {
      request.subscriber = outcome.accessKey;
      rate.sends(request.raw, outcome.answer.cost);
      send(reply, outcome);
      observer.answered(request, reply);
    });
  };

  function answer(request: FastifyRequest, reply: FastifyReply, leave: (error?: Error) => void): void {
    const { accept = '', 'accept-language': acceptLanguage = '' } = request.headers;
    const asked = { method: request.method, url: originForm(request.url), accept, acceptLanguage };
    const opened = (found: (() => MaybeAsync<SubscriptionOutcome>) | null): MaybeAsync<void> =>
      found === null && !hidesRest ? leave() : settle(request, reply, found ?? (() => DECOYED));
    const done = mapMaybeAsync(door.open(asked), opened);
    if (done instanceof Promise) done.catch(leave);
  }

  app.addHook('onRequest', (request, reply, done) => {
    const isUnserved = (request.is404 || request.method === 'OPTIONS') && methodsAt(mounts, request.url).length === 0;
    if (isUnserved) answer(request, reply, done);
    else done();
  });
  return answer;
}

/** Sends past the framework, which has an order and fields of its own. */
function send(reply: FastifyReply, { answer: { status, fields, body } }: SubscriptionOutcome): void {
  reply.hijack();
  const { raw } = reply;
  keepReading(reply.request.raw, raw);
  raw.sendDate = false;
  raw.writeHead(status, [...fields]);
  raw.end(body);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key whose subscription was answered by its token; null for every other request. */
    subscriber: string | null;
  }
}
