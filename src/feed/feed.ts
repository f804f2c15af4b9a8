import type { IncomingMessage, Server } from 'node:http';
import type { Readable } from 'node:stream';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Acknowledgement, Backend } from '../core/backend.js';
import { DomainError } from '../core/errors.js';
import { createWaiting } from '../core/keys/waiting.js';
import { heldFor, LongPolls } from '../core/long-polls.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { STATIC } from '../core/principal.js';
import { createSession } from '../core/session.js';
import type { FindPrincipal, TokenGuard } from '../core/token-guard.js';
import { acceptBody, allowLongBody } from '../sockets/awaited-bodies.js';
import { changeBegins } from '../sockets/connection-to-blame.js';
import { keepReading } from '../sockets/early-answer.js';
import type { CreateServer } from '../sockets/followed-connections.js';
import { listenerOptions, withHostCheck } from '../sockets/http-server.js';
import { type BodyDone, receiveBody } from '../sockets/receive-body.js';
import { commonErrors, encodeError } from '../wire/errors.js';
import { isJsonObject } from '../wire/json/json.js';
import { type Encodable, encodeJson } from '../wire/json/write-json.js';
import { parseBody } from '../wire/json-body.js';
import { accepts, staticToken } from '../wire/traits/auth.js';
import { readCountersPost } from './counters-body.js';
import { invalid } from './entries.js';
import { createKeysAnswers } from './keys-answer.js';
import { readReport } from './report-body.js';
import { BODY_LIMIT, FEED_PATHS, FEED_ROUTES, type FeedRoute, isFeedRoute, MOST_WAIT } from './routes.js';

export interface FeedOptions {
  readonly backend: Pick<Backend, 'keys' | 'count' | 'countPosted' | 'replica'>;
  /** Null asks for none: a Unix socket, whose permissions decide. */
  readonly token: string | null;
  /** Asked wherever a token is, by the caller's network. */
  readonly tokens: TokenGuard;
  readonly networkOf: (request: IncomingMessage) => string;
  /** Makes the server that listens; absent for a plain one. */
  readonly createServer?: CreateServer;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  readonly random: RandomPort;
  readonly log: LogPort;
}

/** The data plane's door. */
export type Feed = ReturnType<typeof createFeed>;

/** Milliseconds. */
const REQUEST_TIMEOUT = 60_000;

const NO_OPERATOR = { username: '', passwordHash: '' } as const;
const NO_SESSION = createSession();

/** Makes the feed, the door of the tunnel server, as an app that does not listen yet. */
export function createFeed(options: FeedOptions) {
  const { backend, token } = options;
  const { keys, replica } = backend;
  /** Counts since the start; `notDurable` are reports that were counted and could not be made durable. */
  const status = { reports: 0, entries: 0, repeatedReports: 0, unknownKeys: 0, notDurable: 0, refused: 0 };
  const answers = createKeysAnswers(keys, options);
  const waiting = createWaiting(keys.admissions);
  const polls = new LongPolls();
  const app = createBareApp(options, () => {
    status.refused += 1;
  });
  app.addHook('onRequest', async (request, reply) => {
    if (token === null) return allowLongBody(request.raw);
    const find: FindPrincipal = async (authorization) =>
      (await accepts(staticToken, authorization, { ...NO_OPERATOR, token }, NO_SESSION)) ? STATIC : null;
    const { authorization } = request.headers;
    const { verdict } = await options.tokens.check(options.networkOf(request.raw), authorization, find);
    if (verdict === 'right') return acceptBody(request.raw);
    status.refused += 1;
    keepReading(request.raw, reply.raw);
    if (verdict !== 'wrong') reply.header('retry-after', verdict);
    return send(reply.header('www-authenticate', 'Bearer'), 401, {
      error: 'unauthorized: expected the feed token in Authorization',
    });
  });
  let isClosing = false;
  app.addHook('preClose', (done) => {
    isClosing = true;
    waiting.release();
    done();
  });
  // A connection that is kept would hold up the stop.
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });

  async function report(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const acknowledgement = readAcknowledgement(request.query);
    const { id, entries } = readReport(jsonBody(request));
    changeBegins();
    const { repeated, unknownKeys, durability } = await backend.count({ id, entries }, acknowledgement);
    status.reports += 1;
    if (repeated) status.repeatedReports += 1;
    else status.entries += entries.length - unknownKeys.length;
    status.unknownKeys += unknownKeys.length;
    const answer = { repeated, unknown_keys: unknownKeys };
    if (typeof durability === 'string') return send(reply, 200, { durable: durability === 'durable', ...answer });
    const again = id === null ? 'it must not be sent again' : 'send it again with the same report_id';
    return notDurable(reply, `the report is counted but not durable: ${durability.failed}; ${again}`, answer);
  }

  function notDurable(reply: FastifyReply, error: string, answer: Readonly<Record<string, Encodable>>): FastifyReply {
    status.notDurable += 1;
    return send(reply, 503, { error, ...answer });
  }

  async function counters(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const acknowledgement = readAcknowledgement(request.query);
    const post = await readCountersPost(jsonBody(request), request.query);
    changeBegins();
    const { outcome, durability } = await backend.countPosted(post, acknowledgement);
    if (outcome.kind === 'ended') return send(reply, 409, { error: ENDED });
    const { kind, unknownKeys } = outcome;
    status.reports += 1;
    if (kind === 'repeated') status.repeatedReports += 1;
    else status.entries += post.counters.length - unknownKeys.length;
    status.unknownKeys += unknownKeys.length;
    const answer = { repeated: kind === 'repeated', baseline: kind === 'baseline', unknown_keys: unknownKeys };
    if (typeof durability === 'string') return send(reply, 200, { durable: durability === 'durable', ...answer });
    return notDurable(reply, `the post is counted but not durable: ${durability.failed}; send it again`, answer);
  }

  async function listKeys(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { wait, since } = readKeysQuery(request.query);
    const held = heldFor(wait);
    const query = { since, known: entityTags(request.headers['if-none-match']) };
    await replica?.lastKnown(held);
    if (wait > 0 && answers.isCurrent(query)) {
      const end = polls.begin('feed');
      if (end === null) return send(reply.header('retry-after', POLL_AGAIN), 429, { error: TOO_MANY_POLLS });
      await waiting.until(held, closing(reply)).finally(end);
    }
    const version = answers.version();
    reply.header('etag', `"${version}"`).header('cache-control', 'no-cache');
    if (query.known.includes(version)) return reply.code(304).send();
    return sendBody(reply, 200, answers.body(query));
  }

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const accessKey = readAccessKey(jsonBody(request));
    const key = replica === null ? keys.get(accessKey) : await replica.find(accessKey);
    if (key === undefined) return send(reply, 200, { allowed: false, reason: 'unknown_key' });
    return send(reply, 200, key.overLimit ? { allowed: false, reason: 'over_limit' } : { allowed: true });
  }

  const handlers: Readonly<Record<FeedRoute, Handler>> = {
    '/v1/counters': counters,
    '/v1/usage': report,
    '/v1/keys': listKeys,
    '/v1/admit': admit,
  };
  for (const url of FEED_PATHS) {
    const { method, bodyLimit } = FEED_ROUTES[url];
    app.route({ method, url, bodyLimit, handler: handlers[url] });
  }
  return { app, status: () => status };
}

const TOO_MANY_POLLS = 'at most 256 requests wait for a change: send fewer, or read the list without wait';
/** Seconds. */
const POLL_AGAIN = 5;

const ENDED = 'epoch: expected the present run of this source: a later one has posted already, and nothing was counted';

type Handler = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;

function createBareApp({ log, createServer }: Pick<FeedOptions, 'log' | 'createServer'>, refused: () => void) {
  const app: FastifyInstance = Fastify<Server>({
    ...listenerOptions({ requestTimeout: REQUEST_TIMEOUT }, withHostCheck(createServer)),
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: 'idle',
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', ({ routeOptions: { bodyLimit: limit = BODY_LIMIT } }, payload, done: BodyDone) => {
    receiveBody(payload, { limit }, done);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    if (!isFeedRoute(path)) return send(reply, 404, { error: 'not found' });
    const allowed = FEED_ROUTES[path].allow;
    return send(reply.header('allow', allowed), 405, { error: `method not allowed: use ${allowed}` });
  });
  app.setErrorHandler((error: FastifyError | DomainError, request, reply) => {
    refused();
    if (error instanceof DomainError) {
      const { status, text } = encodeError(commonErrors, { failures: [] }, error);
      // The framework closes the connection behind a body that failed.
      reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close');
      keepReading(request.raw, reply.raw);
      return send(reply, status, { error: text });
    }
    const status = error.statusCode ?? 500;
    if (status < 500) return send(reply, status, { error: error.message });
    log.error({ err: error }, 'a request to the feed failed');
    return send(reply, 500, { error: 'internal error' });
  });
  return app;
}

function send(reply: FastifyReply, status: number, body: Encodable): FastifyReply {
  return sendBody(reply, status, Buffer.from(encodeJson(body)));
}

function sendBody(reply: FastifyReply, status: number, body: Buffer | Readable): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').send(body);
}

function jsonBody({ body, headers }: FastifyRequest): Buffer {
  if (!Buffer.isBuffer(body) || body.length === 0) throw invalid('body', 'a JSON object');
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers['content-type'] ?? '')) {
    throw invalid('Content-Type', 'application/json');
  }
  return body;
}

function member(query: unknown, name: string): unknown {
  const members: Readonly<Record<string, unknown>> = typeof query === 'object' && query !== null ? { ...query } : {};
  return members[name];
}

function readAcknowledgement(query: unknown): Acknowledgement {
  const ack = member(query, 'ack') ?? 'durable';
  if (ack === 'durable' || ack === 'memory') return ack;
  throw invalid('ack', '"durable" or "memory"');
}

function readKeysQuery(query: unknown): { readonly wait: number; readonly since: string | null } {
  const [wait = '0', since = null] = [member(query, 'wait'), member(query, 'since')];
  if (typeof wait !== 'string' || !/^\d{1,3}$/.test(wait) || Number(wait) > MOST_WAIT) {
    throw invalid('wait', `a whole number of seconds up to ${MOST_WAIT}`);
  }
  if (since !== null && typeof since !== 'string') throw invalid('since', 'one version');
  return { wait: Number(wait), since };
}

/** RFC 9110, 13.1.2; a weak tag compares as a strong one. */
function entityTags(header: string | undefined): readonly string[] {
  return [...(header ?? '').matchAll(/(?:W\/)?"([^"]*)"/g)].map(([, tag = '']) => tag);
}

/** Aborted when the caller hangs up, or ends its side: whether it still waits for the answer, it then cannot say. */
function closing({ raw, request }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const { socket } = request.raw;
  socket.once('end', abort);
  raw.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  if (socket.readableEnded) abort();
  return controller.signal;
}

function readAccessKey(bytes: Buffer): string {
  const body = parseBody(bytes);
  const key = isJsonObject(body) ? body.access_key : undefined;
  if (typeof key !== 'string' || key === '') throw invalid('access_key', 'a string that is not empty');
  return key;
}
