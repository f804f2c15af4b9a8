import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Changed, SETTINGS } from '../core/actors.js';
import { DomainError } from '../core/errors.js';
import { type Principal, permits, TERMINAL } from '../core/principal.js';
import { bodyLength, sendBody } from '../northbound/answers.js';
import type { BesideMounts } from '../northbound/app-options.js';
import { jsonBytes, keepBodyUninterpreted, readBody } from '../northbound/body-reading.js';
import { acceptedCoding, type ContentCoding, compressors } from '../northbound/list-body.js';
import { fits } from '../northbound/matching.js';
import type { Mount } from '../northbound/mount.js';
import { type Access, lookAtCredential, principalShown } from '../northbound/principal.js';
import type { Observing } from '../northbound/request-observer.js';
import { acceptBody } from '../sockets/awaited-bodies.js';
import { changeBegins } from '../sockets/connection-to-blame.js';
import { keepReading } from '../sockets/early-answer.js';
import { JSON_TYPE } from '../wire/envelope.js';
import type { OwnAnswer, OwnCall, OwnContext } from './call.js';
import { DetailedError, failureRow, failureText, OwnError, type OwnFailure, wireCode } from './errors.js';
import { OWN_HANDLERS } from './handlers.js';
import type { OwnMethod, QueryValues } from './operation.js';
import { OWN_OPERATIONS, OWN_ROOT, type OwnOperation } from './operations.js';
import { Streams } from './streams.js';

/** How callers are admitted. */
export interface OwnAccess extends Access {
  readonly mounts: readonly Mount[];
  /** True on the socket of the commands, which its own rights guard. */
  readonly isTerminal: boolean;
}

/** Serves Keyway's own interface next to each mount, always with a credential, and to no page of another origin. */
export function createOwnApi(context: OwnContext, access: OwnAccess): BesideMounts {
  const streams = new Streams(context.log);
  const roots: string[] = [];
  return {
    refuses(request, reply, text) {
      if (!roots.some((root) => request.url.startsWith(`${root}/`))) return false;
      sendFailure(reply, new OwnError('invalidPath', text));
      return true;
    },
    serve(app, mount, observing) {
      app.addHook('preClose', (done) => {
        streams.end();
        context.keysWaiting.release();
        context.eventsWaiting.release();
        context.jobs.release();
        done();
      });
      const root = mount.base + OWN_ROOT;
      if (access.mounts.some(({ base, api }) => isWithin(root, base) || isWithin(root, api))) return;
      roots.push(root);
      serveBeside(app, { context, access, streams, mount, root, observing });
    },
  };
}

/** Tells whether a path of a mount stands where this interface would: that mount goes before it. */
function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

interface Place {
  readonly context: OwnContext;
  readonly access: OwnAccess;
  readonly streams: Streams;
  readonly mount: Mount;
  readonly root: string;
  readonly observing: Observing;
}

function serveBeside(app: FastifyInstance, place: Place): void {
  const { root, observing, context } = place;
  const routed = root.replaceAll(':', '::'); // The router reads a lone colon as a parameter.
  for (const operation of OWN_OPERATIONS) {
    const observer = observing(`v1.${operation.name}`, place.mount);
    const used = context.use.counting('v1', operation.name);
    app.route({
      method: operation.method,
      url: routed + operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      bodyLimit: operation.bodyLimit,
      config: { observer },
      async onRequest(request) {
        observer.begun(request);
        const principal = await callerOf(operation, place, request);
        if (!place.access.isTerminal) used(principal, request.headers['user-agent']);
        request.principal = principal;
        request.hasCredential = true;
        acceptBody(request.raw);
        keepBodyUninterpreted(operation.body !== undefined, request);
      },
      errorHandler(error, request, reply) {
        sendFailure(reply, failureOf(error, context));
        observer.answered(request, reply);
      },
      handler: observer.around((request, reply) => serve(operation, place, request, reply)),
    });
  }
  const other = observing('other', null);
  for (const url of [routed, `${routed}/*`]) {
    app.all(url, {
      config: { observer: other },
      onRequest: (request, reply) => {
        other.begun(request);
        answerUnmatched(root, request, reply);
        other.answered(request, reply);
      },
      handler: () => undefined,
    });
  }
}

/** Resolves to the caller. Rejects with `unauthorized`, or with `notPermitted` if this call is not allowed. */
async function callerOf(
  operation: OwnOperation,
  { access, mount }: Place,
  request: FastifyRequest,
): Promise<Principal> {
  if (access.isTerminal) return TERMINAL;
  const { verdict, principal } = await lookAtCredential(mount, access, request);
  if (principal === null) throw new DomainError('unauthorized', '', typeof verdict === 'number' ? verdict : null);
  if (!permits(principal, operation.access)) throw new DomainError('notPermitted');
  return principal;
}

async function serve(
  operation: OwnOperation,
  place: Place,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { context, root } = place;
  const { principal } = request;
  if (principal === null) throw new Error('a call without a caller');
  const params = Object.fromEntries(
    Object.entries(Object(request.params)).map(([name, value]) => [name, String(value)]),
  );
  if (Object.values(params).includes('')) throw new OwnError('notFound');
  const query = queryOf(operation, request);
  const body = bodyOf(operation, request);
  if (operation.method !== 'GET') changeBegins();
  const answerPlace = context.largeAnswers.placeOf(principal.name, request.raw.socket, Boolean(query.wait));
  const awaitPlace = async () => {
    await answerPlace.take();
    await context.turns.next();
  };
  const call = { context, principal, request, root, params, query, body, awaitPlace };
  try {
    const changed = operation.method === 'GET' ? [] : changedBy(operation, params.key);
    const answer = await heldBy(call, () =>
      context.actors.during(principal, changed, async () => OWN_HANDLERS[operation.name](call)),
    );
    if ('stream' in answer) {
      place.streams.begin(answer.stream, reply, principal, () => isLetIn(operation, place, request));
      return;
    }
    // The caller may have lost his credential while he waited for it.
    if (query.wait !== undefined && operation.method === 'GET' && !(await isLetIn(operation, place, request)))
      throw new DomainError('unauthorized');
    const isLong = typeof answer.payload === 'string' && answer.payload.length >= PACKED_FROM;
    const coding = isLong ? codingFor(request) : null;
    send(coding === null ? answer : await packed(answer, coding), reply);
    answerPlace.isAnswered(reply.raw);
  } catch (error) {
    answerPlace.giveBack();
    throw error;
  }
}

/** Returns what an operation changes, as far as its path tells. */
function changedBy({ path }: OwnOperation, key: string | undefined): readonly Changed[] {
  if (key !== undefined) return path.endsWith('/address') ? [] : [key];
  return path.startsWith('/configuration') || path === '/dns' ? [SETTINGS] : [];
}

/** Counts a call that may wait while it does. Rejects with `tooManyPolls`. */
async function heldBy<T>({ context, principal, query }: OwnCall, answer: () => Promise<T>): Promise<T> {
  if (!query.wait) return answer();
  const end = context.polls.begin(principal.name);
  if (end === null) throw new OwnError('tooManyPolls', '', POLL_AGAIN);
  try {
    return await answer();
  } finally {
    end();
  }
}

/** Seconds. */
const POLL_AGAIN = 5;

/** The least length of an answer that is compressed for clients that accept it. */
const PACKED_FROM = 1024;

const codingFor = ({ headers }: FastifyRequest) => acceptedCoding(headers['accept-encoding']);

const packedAnswers = new WeakMap<OwnAnswer, Map<ContentCoding, Promise<OwnAnswer>>>();

/** Compresses an answer, once for all its recipients. */
function packed(answer: OwnAnswer, coding: ContentCoding): Promise<OwnAnswer> {
  const known = packedAnswers.get(answer) ?? new Map<ContentCoding, Promise<OwnAnswer>>();
  packedAnswers.set(answer, known);
  const made = known.get(coding) ?? pack(answer, coding);
  known.set(coding, made);
  return made;
}

async function pack(answer: OwnAnswer, coding: ContentCoding): Promise<OwnAnswer> {
  const payload = await compressors[coding](Buffer.from(String(answer.payload)));
  return { ...answer, payload, headers: { ...answer.headers, 'content-encoding': coding, vary: 'accept-encoding' } };
}

/** Tells whether the caller of a stream or a waiting call still has access. */
async function isLetIn(
  { access: presets }: OwnOperation,
  { access, mount }: Place,
  { headers }: FastifyRequest,
): Promise<boolean> {
  if (access.isTerminal) return true;
  const principal = await principalShown(mount, access, headers.authorization ?? '');
  return principal !== null && permits(principal, presets);
}

/** The query as its row describes it. Throws `invalidQuery`, which names the member. */
function queryOf({ query: rows = {} }: OwnOperation, request: FastifyRequest): QueryValues {
  const given = Object.entries(Object(request.query)).map(([name, value]) => {
    const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
    if (row === undefined) throw new OwnError('invalidQuery', `${name}: expected no member of this name`);
    if (typeof value !== 'string') throw new OwnError('invalidQuery', `${name}: expected one value`);
    if (row.kind === 'text') return [name, value];
    const number = Number(value);
    if (/^\d{1,15}$/.test(value) && number >= row.least && number <= row.most) return [name, number];
    throw new OwnError('invalidQuery', `${name}: expected a whole number from ${row.least} to ${row.most}`);
  });
  return Object.fromEntries(given);
}

function bodyOf({ body }: OwnOperation, request: FastifyRequest): unknown {
  if (body === undefined) return undefined;
  const { schema, types, isRaw = false } = body;
  const sent = request.sentContentType;
  const bytes = request.body instanceof Buffer ? request.body : undefined;
  const json = bytes && jsonBytes(schema, sent, bytes);
  const read = isRaw ? json : readBody(schema, sent, json);
  const type = (sent ?? '').toLowerCase().split(';', 1)[0]?.trim() ?? '';
  if (types !== undefined && !types.includes(type)) throw new DomainError('notJson', `as ${types.join(' or ')}`);
  return isRaw ? { type, bytes: read ?? Buffer.alloc(0) } : read;
}

function failureOf(error: Error & { readonly statusCode?: number }, { log }: OwnContext): OwnFailure {
  if (error instanceof DomainError || error instanceof OwnError) return error;
  if (error.statusCode !== undefined && error.statusCode < 500) return new DomainError('invalidBody', error.message);
  log.error({ err: error }, "a request to Keyway's own interface failed for a reason that is no answer of it");
  return new OwnError('internalError');
}

/** Sends a success past the framework, which would append a charset. */
function send({ status = 200, payload, headers }: OwnAnswer, reply: FastifyReply): void {
  reply.hijack();
  const length = bodyLength(payload);
  reply.raw.writeHead(status, {
    'content-type': JSON_TYPE,
    'content-length': length,
    'cache-control': 'no-store',
    ...headers,
  });
  sendBody(reply.raw, payload, length);
}

/** Sends a failure to a request whose body may still be coming. */
function sendFailure(reply: FastifyReply, error: OwnFailure, more: Readonly<Record<string, string>> = {}): void {
  keepReading(reply.request.raw, reply.raw);
  if (error.code === 'bodyTooSlow') reply.raw.shouldKeepAlive = false;
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  if (error.retryAfter !== null) reply.header('retry-after', error.retryAfter);
  const fields = error instanceof DetailedError ? error.fields : {};
  const body = { ok: false, error: failureText(error), code: wireCode(error.code), ...fields };
  reply
    .code(failureRow(error.code).status)
    .headers({ 'cache-control': 'no-store', ...more, 'content-type': JSON_TYPE })
    .send(Buffer.from(JSON.stringify(body)));
}

/**
 * Answers what stands below the root and is no call: 404, or 405 with `Allow`, which OPTIONS is answered with, too. No
 * origin is granted anything.
 */
function answerUnmatched(root: string, request: FastifyRequest, reply: FastifyReply): void {
  const [path = ''] = request.url.split(/[?#]/, 1);
  const methods = methodsAt(decodeURI(path).slice(root.length));
  if (methods.length === 0) sendFailure(reply, new OwnError('notFound'));
  else if (request.method === 'OPTIONS') reply.code(204).header('allow', methods.join(', ')).send();
  else sendFailure(reply, new OwnError('methodNotAllowed', `use ${methods.join(', ')}`), { allow: methods.join(', ') });
}

function methodsAt(path: string): readonly string[] {
  const methods = OWN_OPERATIONS.filter((operation) => fits(operation.path, path)).map(({ method }) => method);
  return [...new Set(methods.flatMap((method: OwnMethod) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}
