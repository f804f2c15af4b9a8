import type { IncomingMessage, Server } from 'node:http';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import type { Health } from '../core/backend.js';
import type { LogPort } from '../core/ports.js';
import type { Readiness } from '../core/readiness.js';
import type { CreateServer } from '../sockets/followed-connections.js';
import { listenerOptions, withHostCheck } from '../sockets/http-server.js';
import type { Metrics } from './metrics.js';

export interface OpsOptions {
  readonly readiness: Readiness;
  readonly health: Health;
  /** The identity of a state that several gateways share; null, and left out of the answer, for others. */
  readonly state?: () => string | null;
  readonly metrics: { readonly contentType: string } & Pick<Metrics, 'text'>;
  /** Makes the server that listens; a plain one if absent. */
  readonly createServer?: CreateServer;
  readonly log: LogPort;
  /** Tells whether a request may be answered, by the host that it was sent to; null if any host is allowed. */
  readonly admitsHost: ((request: IncomingMessage) => boolean) | null;
}

/** Milliseconds. */
const REQUEST_TIMEOUT = 15_000;

const PATHS = ['/healthz', '/readyz', '/metrics'];
const TEXT = 'text/plain; charset=utf-8';
const UNAVAILABLE = 503;
/** RFC 9110, 15.5.20. */
const MISDIRECTED = 421;
const MISDIRECTED_WORDS = 'misdirected request: its host is not one of the names given with --allow-host';

/**
 * Makes the operator's listener as an app that is not listening yet: `/healthz`, `/readyz` and `/metrics`. It requires
 * no credential and reveals nothing secret.
 */
export function createOpsApp({
  readiness,
  health,
  state: identity = () => null,
  metrics,
  createServer,
  log,
  admitsHost,
}: OpsOptions): FastifyInstance {
  const app: FastifyInstance = Fastify<Server>({
    ...listenerOptions({ requestTimeout: REQUEST_TIMEOUT }, withHostCheck(createServer)),
    forceCloseConnections: true,
    frameworkErrors: (error, _request, reply) => sendText(reply, 400, error.message),
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store');
    if (admitsHost?.(request.raw) === false) return sendText(reply, MISDIRECTED, MISDIRECTED_WORDS);
    if (request.method === 'GET' || request.method === 'HEAD') return done();
    // The body of such a request is never read.
    reply.header('connection', 'close');
    if (!PATHS.includes(pathOf(request.url))) return sendNotFound(reply);
    return sendText(reply.header('allow', 'GET, HEAD'), 405, 'method not allowed: use GET or HEAD');
  });
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    // For example a method that Node knows and the framework does not.
    if ((error.statusCode ?? 500) < 500) return sendText(reply, 400, error.message);
    log.error({ err: error }, 'a request to the ops listener failed');
    return sendText(reply, 500, 'internal error');
  });
  app.get('/healthz', async (_request, reply) => {
    const problems = await health.problems();
    const kinds = health.kinds();
    const isWell = problems.every(({ problem }) => kinds[problem] === 'outside');
    const status = problems.length === 0 ? 'healthy' : isWell ? 'degraded' : 'unhealthy';
    const state = identity();
    return sendState(reply, isWell, { status, problems, ...(state === null ? {} : { state }) });
  });
  app.get('/readyz', (_request, reply) => {
    const status = readiness.phase();
    return sendState(reply, status === 'ready', { status });
  });
  app.get('/metrics', async (_request, reply) => {
    return reply.header('content-type', metrics.contentType).send(await metrics.text());
  });
  return app;
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

function sendNotFound(reply: FastifyReply): FastifyReply {
  return sendText(reply, 404, `not found: there are ${PATHS.join(', ')}`);
}

function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', TEXT).send(`${text}\n`);
}

/** Sends JSON on several lines, to be readable in a terminal, too. */
function sendState(reply: FastifyReply, isWell: boolean, state: object): FastifyReply {
  return reply
    .code(isWell ? 200 : UNAVAILABLE)
    .header('content-type', 'application/json')
    .send(`${JSON.stringify(state, null, 2)}\n`);
}
