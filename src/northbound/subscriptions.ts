import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { keepReading } from '../sockets/early-answer.js';
import { DECOYED, type SubscriptionDoor, type SubscriptionOutcome } from '../subscription/door.js';
import { sendTooMany } from './answers.js';
import { methodsAt, originForm } from './matching.js';
import type { Mount } from './mount.js';
import type { RouteObserver } from './request-observer.js';
import type { StrangerRate } from './stranger-rate.js';

/** Subscriptions by token on one listener. */
export interface ServedSubscriptions {
  readonly door: SubscriptionDoor;
  /** True if every unserved path is answered like an unknown token. */
  readonly hidesRest: boolean;
}

export interface SubscriptionContext {
  readonly mounts: readonly Mount[];
  readonly observer: RouteObserver;
  readonly rate: StrangerRate;
}

/** Answers a request that no mount serves, if it is for a subscription. */
export type AnswerSubscription = (request: FastifyRequest, reply: FastifyReply) => Promise<'answered' | 'not ours'>;

/**
 * Makes the app answer subscriptions on paths that nothing else serves, before a request's body has come. They are not
 * routes because the prefix may change while Keyway runs.
 */
export function serveSubscriptions(
  app: FastifyInstance,
  { door, hidesRest }: ServedSubscriptions,
  { mounts, observer, rate }: SubscriptionContext,
): AnswerSubscription {
  async function tell(
    request: FastifyRequest,
    reply: FastifyReply,
    answered: () => Promise<SubscriptionOutcome>,
  ): Promise<void> {
    observer.begun(request);
    const wait = rate.retryAfter(request.raw);
    if (wait === null) {
      const outcome = await answered();
      request.subscriber = outcome.accessKey;
      rate.sends(request.raw, outcome.answer.cost);
      send(reply, outcome);
    } else sendTooMany(reply, wait);
    observer.answered(request, reply);
  }

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<'answered' | 'not ours'> {
    const { accept = '', 'accept-language': acceptLanguage = '' } = request.headers;
    const asked = { method: request.method, url: originForm(request.url), accept, acceptLanguage };
    const opened = await door.open(asked);
    if (opened === null && !hidesRest) return 'not ours';
    await tell(request, reply, opened ?? (async () => DECOYED));
    return 'answered';
  }

  app.addHook('onRequest', (request, reply, done) => {
    const isUnserved = (request.is404 || request.method === 'OPTIONS') && methodsAt(mounts, request.url).length === 0;
    if (isUnserved) answer(request, reply).then((outcome) => outcome === 'answered' || done(), done);
    else done();
  });
  return answer;
}

/** Sends past the framework, which would add fields and reorder them. */
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
