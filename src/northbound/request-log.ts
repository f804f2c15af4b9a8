import type { FastifyInstance } from 'fastify';
import { keyDigest } from '../core/key-digest.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import type { CallerOf } from './caller.js';

/** One line per request. The path is the route's template: a key in it shows as its digest (design: "secrets in logs"). */
export function logRequests(app: FastifyInstance, log: LogPort, clock: ClockPort, callerOf: CallerOf): void {
  app.decorateRequest('startedAt', 0);
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = clock.monotonic();
    done();
  });
  app.addHook<{ Params: { readonly key?: string } }>('onResponse', (request, reply, done) => {
    const key = request.params?.key;
    log.info(
      {
        method: request.method,
        path: request.routeOptions.url ?? '(unmatched)',
        ...(key === undefined ? {} : { key: keyDigest(key) }),
        status: reply.statusCode,
        milliseconds: Math.round((clock.monotonic() - request.startedAt) * 10) / 10,
        address: callerOf(request.raw),
      },
      'request',
    );
    done();
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Milliseconds of the monotonic clock. */
    startedAt: number;
  }
}
