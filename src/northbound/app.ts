import type { Server } from 'node:http';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { DomainError } from '../core/errors.js';
import { StrangersWaiting } from '../core/strangers-waiting.js';
import { allowHalfClose, listenerOptions, type ServerLimits } from '../sockets/http-server.js';
import { commonErrors, encodeError } from '../wire/errors.js';
import { refuseOtherHosts } from './allowed-hosts.js';
import { answerUnmatched, sendEarlyFailure, sendFailure } from './answers.js';
import { answerBroken, inEnvelope, onPlainPage, withRefusals } from './api-server.js';
import type { AppOptions } from './app-options.js';
import { createAuditBody } from './audit-body.js';
import { servePreflights } from './cors.js';
import { serveFaults } from './faulty.js';
import { createListBody } from './list-body.js';
import { createLogin } from './login.js';
import { createLoginGuard } from './login-guard.js';
import { servesPanel } from './mount.js';
import { servePanel } from './panel.js';
import { notePeers } from './peers.js';
import { DROPPED_RETRY_AFTER, receiveBodies } from './receive-body.js';
import { createRequestLog } from './request-log.js';
import { createObserving } from './request-observer.js';
import { serveOperations } from './routes.js';
import { createStrangerRate } from './stranger-rate.js';
import { type AnswerSubscription, serveSubscriptions } from './subscriptions.js';

/** Milliseconds that a whole request may take; uploading a configuration of 256 MiB is slow. */
const REQUEST_TIMEOUT = 300_000;

/** In bytes. A key of 10,000 characters outside ASCII takes 60,000 and more in a path. */
const MAX_HEADER_SIZE = 128 * 1024;

const LIMITS: ServerLimits = { requestTimeout: REQUEST_TIMEOUT, maxHeaderSize: MAX_HEADER_SIZE };

/** Also covers half of a surrogate pair. */
const NOT_UTF8 = 'the path is no UTF-8, percent-encoded (RFC 3986, 2.5)';

/** Creates the Fastify app that serves every mount over one core. It is not listening yet. */
export function createApp(options: AppOptions): FastifyInstance {
  const { core, mounts } = options;
  const requestLog = options.requestLog === 'none' ? null : createRequestLog(options);
  const observing = createObserving(options.observer ?? null, requestLog, options.clock);
  const other = observing('other', null);
  const refusal = options.subscriptions?.hidesRest === true ? onPlainPage : inEnvelope;
  const app = Fastify<Server>({
    ...listenerOptions(LIMITS, withRefusals(refusal, mounts, options.createServer)),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: MAX_HEADER_SIZE },
    frameworkErrors(error, request, reply) {
      const refuse = () => {
        const text = error.code === 'FST_ERR_BAD_URL' ? NOT_UTF8 : error.message;
        if (options.ownApi?.refuses(request, reply, text) !== true) sendFailure(reply, 400, text);
        other.answered(request, reply);
      };
      const outcome = answerSubscription?.(request, reply) ?? Promise.resolve('not ours');
      outcome.then((which) => which === 'answered' || refuse(), refuse);
    },
    clientErrorHandler: (error, socket) => answerBroken(refusal, error, socket),
  });
  app.decorateRequest('sentContentType', undefined);
  app.decorateRequest('begunAt', null);
  app.decorateRequest('caller', null);
  app.decorateRequest('subscriber', null);
  app.decorateRequest('principal', null);
  allowHalfClose(app.server);
  notePeers(app.server);
  receiveBodies(app);
  app.setErrorHandler((error: FastifyError, request, reply) => {
    answerError(options, error, request, reply);
    const { observer = other } = request.routeOptions.config;
    observer.answered(request, reply);
    return reply;
  });
  app.setNotFoundHandler(other.around((request, reply) => answerUnmatched(mounts, request, reply)));
  refuseOtherHosts(app, options.allowHosts, other);
  if (options.faulty !== null) serveFaults(app, options.faulty, other);
  const rate = createStrangerRate(options.clock, options.callerOf);
  const answerSubscription: AnswerSubscription | null =
    options.subscriptions === null
      ? null
      : serveSubscriptions(app, options.subscriptions, { mounts, rate, observer: observing('subscription', null) });
  servePreflights(app, mounts, other);

  const guard = createLoginGuard(options.loginGuard, options.clock);
  const login = createLogin(options.credentials, guard, options.tokens, options.random, options.observer);
  const audit = createAuditBody(core.audit);
  const strangers = new StrangersWaiting();
  for (const mount of mounts) {
    const list = createListBody(core.keys, mount.revision, options.clock);
    serveOperations(app, mount, { ...options, login, list, audit, rate, strangers, observing });
    if (servesPanel(mount)) servePanel(app, mount, { mounts, observing, rate });
    options.ownApi?.serve(app, mount, observing);
  }
  return app;
}

function answerError(
  { log, mounts }: AppOptions,
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof DomainError) {
    const { status, text } = encodeError(commonErrors, { failures: [] }, error);
    if (error.code === 'tooManyBodies') reply.header('retry-after', DROPPED_RETRY_AFTER);
    else if (error.code === 'bodyTooSlow') reply.raw.shouldKeepAlive = false;
    else if (error.retryAfter !== null) reply.header('retry-after', error.retryAfter);
    // The framework would close the connection after any failed body; one that has arrived whole, or is read to its
    // end, needs no close.
    reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close');
    return sendEarlyFailure(reply, status, text);
  }
  const status = error.statusCode ?? 500;
  // On an unserved path an error must not reveal what is wrong with the body, or that QUERY lacks one.
  if (status < 500 && request.is404) return answerUnmatched(mounts, request, reply);
  if (status < 500) return sendFailure(reply, status, error.message);
  log.error({ err: error }, 'a request failed for a reason that is no answer of the API');
  return sendFailure(reply, 500, 'internal error');
}
