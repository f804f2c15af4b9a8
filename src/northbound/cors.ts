import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerUnmatched, sendEarlyFailure } from './answers.js';
import { isApiPath, isOfOwnOrigin, methodsAt } from './matching.js';
import type { Mount } from './mount.js';
import type { RouteObserver } from './request-observer.js';

/**
 * Serves OPTIONS, preflight or not: 200 with `Allow` for a path that any origin may call, else 404 or 405. The plugin
 * has a scope of its own, so that its hook runs for no other request.
 */
export function servePreflights(app: FastifyInstance, mounts: readonly Mount[], observer: RouteObserver): void {
  const answer = observer.around((request, reply) => answerOptions(mounts, request, reply));
  app.register(async (scope) => {
    await scope.register(cors, { delegator: (request, done) => done(null, corsOf(mounts, request)) });
    scope.addHook('onRequest', (request, reply) => {
      answer(request, reply);
    });
  });
}

/**
 * Grants by name what is asked for, because a literal `*` does not cover `Authorization` in browsers (Fetch,
 * "CORS-preflight fetch").
 */
function corsOf(mounts: readonly Mount[], request: FastifyRequest): FastifyCorsOptions {
  if (!isGranted(mounts, request)) return { origin: false };
  const { 'access-control-request-method': method, 'access-control-request-headers': headers } = request.headers;
  return {
    methods: tokens(method) ?? '*',
    allowedHeaders: tokens(headers) ?? '*',
    strictPreflight: false,
    preflightContinue: true,
  };
}

/**
 * Tells whether a preflight is granted: anywhere below an API that hides nothing, so that a page of another origin can
 * read its 404. Any other OPTIONS is granted on served paths only.
 */
function isGranted(mounts: readonly Mount[], request: FastifyRequest): boolean {
  if (isOfOwnOrigin(mounts, request.url)) return false;
  if (methodsAt(mounts, request.url).length > 0) return true;
  const open = mounts.filter(({ hidesRest }) => !hidesRest);
  return request.headers['access-control-request-method'] !== undefined && isApiPath(open, request.url);
}

/** Sends what the plugin has granted, or 404. `Vary` is constant, because no answer differs by origin. */
function answerOptions(mounts: readonly Mount[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!isGranted(mounts, request)) {
    reply.removeHeader('vary');
    return isOfOwnOrigin(mounts, request.url)
      ? answerUnmatched(mounts, request, reply)
      : sendEarlyFailure(reply, 404, 'not found');
  }
  return reply
    .header('allow', methodsAt(mounts, request.url).join(','))
    .header('vary', 'access-control-request-method, access-control-request-headers')
    .send();
}

/** Returns the value if it is a list of HTTP tokens (RFC 9110, 5.6.2), so that nothing else is ever echoed. */
function tokens(value: string | undefined): string | null {
  return value !== undefined && /^[\w!#$%&'*+.^`|~, -]{1,4096}$/.test(value) ? value : null;
}
