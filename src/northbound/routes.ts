import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Changed, SETTINGS } from '../core/actors.js';
import { DomainError } from '../core/errors.js';
import { andThen, type MaybeAsync, orElse } from '../core/maybe-async.js';
import { permits } from '../core/principal.js';
import type { StrangersWaiting } from '../core/strangers-waiting.js';
import type { TokenVerdict } from '../core/token-guard.js';
import { acceptBody, acceptClient, allowLongBody } from '../sockets/awaited-bodies.js';
import { changeBegins } from '../sockets/connection-to-blame.js';
import { JSON_TYPE } from '../wire/envelope.js';
import { encodeError, forStrangers } from '../wire/errors.js';
import type { Subject } from '../wire/operations/operation.js';
import { accessOf, type Operation } from '../wire/operations.js';
import { whenAnswerIsOver } from './answer-over.js';
import {
  ANY_ORIGIN,
  answerUnmatched,
  bodyLength,
  sendBody,
  sendEarlyFailure,
  sendFailure,
  sendTooMany,
} from './answers.js';
import type { AppOptions } from './app-options.js';
import { jsonBytes, keepBodyUninterpreted, readBody } from './body-reading.js';
import { HANDLERS, type HandlerContext, type OperationAnswer } from './handlers.js';
import type { Mount } from './mount.js';
import { lookAtCredential } from './principal.js';
import type { Observing } from './request-observer.js';

export interface RouteContext extends AppOptions, HandlerContext {
  readonly observing: Observing;
  readonly strangers: StrangersWaiting;
}

export function serveOperations(app: FastifyInstance, mount: Mount, context: RouteContext): void {
  for (const operation of mount.operations) serveOperation(app, operation, mount, context);
}

function serveOperation(app: FastifyInstance, operation: Operation, mount: Mount, context: RouteContext): void {
  const observer = context.observing(operation.name, mount);
  const headers = Object.entries(mount.headers ?? {});
  const used = context.use?.counting(mount.revision.id, operation.name) ?? null;
  /** Answers a request that may not be admitted. */
  const admitOrRefuse = (request: FastifyRequest, reply: FastifyReply): MaybeAsync<'admitted' | 'refused'> => {
    for (const [name, value] of headers) reply.raw.setHeader(name, value);
    return andThen(refusalOf(operation, mount, context, request), (refusal) => {
      if (refusal === null) return 'admitted';
      if (refusal instanceof DomainError) sendRefusal(operation, mount, refusal, reply);
      else sendTooMany(reply, refusal);
      return 'refused';
    });
  };
  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    used?.(request.principal, request.headers['user-agent']);
    return serve(operation, mount, context, request, reply);
  };
  const route = {
    method: operation.method,
    url: mount.api.replaceAll(':', '::') + operation.path.replace('{key}', ':key'),
    bodyLimit: operation.bodyLimit,
    config: { observer, ownOriginOnly: !mount.revision.anyOrigin },
  };
  // The framework reads no body of a GET, so nothing has to be decided earlier, and a hook would cost as much as the
  // check.
  if (operation.method === 'GET') {
    app.route({
      ...route,
      handler(request, reply) {
        observer.begun(request);
        const answered = andThen(admitOrRefuse(request, reply), (outcome) => {
          if (outcome === 'refused') return;
          if (request.hasCredential) acceptClient(request.raw);
          return answer(request, reply);
        });
        return andThen(answered, () => observer.answered(request, reply));
      },
    });
    return;
  }
  app.route({
    ...route,
    async onRequest(request, reply) {
      observer.begun(request);
      if ((await admitOrRefuse(request, reply)) === 'refused') {
        observer.answered(request, reply);
        return;
      }
      if (request.hasCredential) acceptBody(request.raw);
      else if (!isOpenToAll(operation, mount, context)) allowLongBody(request.raw);
      keepBodyUninterpreted(operation.body.kind !== 'none', request);
    },
    handler: observer.around(answer),
  });
}

function isOpenToAll(operation: Operation, { revision }: Mount, { protectAudit, core }: RouteContext): boolean {
  if (accessOf(operation, revision) !== 'open') return false;
  return operation.capability !== 'audit' || !(protectAudit || core.audit.isProtected());
}

/**
 * Decides whether to admit a request. Returns null if so, otherwise the error, or the seconds after which a caller
 * without a credential may retry. Records on the request whether its credential was accepted.
 */
function refusalOf(
  operation: Operation,
  mount: Mount,
  context: RouteContext,
  request: FastifyRequest,
): MaybeAsync<DomainError | number | null> {
  const admitted = isOpenToAll(operation, mount, context) ? 'open' : admission(operation, mount, context, request);
  return andThen(admitted, (verdict) => refusalBy(verdict, operation, mount, context, request));
}

function refusalBy(
  verdict: Admission,
  operation: Operation,
  mount: Mount,
  context: RouteContext,
  request: FastifyRequest,
): MaybeAsync<DomainError | number | null> {
  request.hasCredential = verdict === 'right';
  if (typeof verdict === 'number') return new DomainError('unauthorized', '', verdict);
  if (verdict === 'not permitted') return new DomainError('notPermitted');
  if (verdict === 'wrong') return new DomainError('unauthorized');
  if (operation.name === 'login') {
    const wait = context.login.keepsWaiting(mount, context.callerOf(request.raw));
    return wait === null ? null : new DomainError('tooManyLogins', '', wait);
  }
  if (operation.capability !== 'audit' || verdict !== 'open') return null;
  const wait = context.rate.retryAfter(request.raw);
  if (wait === null) return null;
  // Only above the rate is an open list's caller asked for a credential, since the rate does not apply to those with
  // one. Accepting it reveals that it is right, so the token guard counts failures here too.
  return andThen(admission(operation, mount, context, request), (shown) => {
    request.hasCredential = shown === 'right';
    return request.hasCredential ? null : wait;
  });
}

/** How a request is admitted (`open`: without a credential), or why it is refused. */
type Admission = 'open' | TokenVerdict | 'not permitted';

/** Checks access (protocol: "Access check for protected endpoints"). A named token is accepted on every mount. */
function admission(
  operation: Operation,
  mount: Mount,
  context: RouteContext,
  request: FastifyRequest,
): MaybeAsync<Admission> {
  const { authorization } = request.headers;
  if (mount.revision.auth.isOpen(context.credentials())) {
    if (!context.refusesOpen(mount)) return 'open';
    if (!context.named.isShown(authorization)) return 'wrong';
  }
  return andThen(lookAtCredential(mount, context, request), ({ verdict, principal }) => {
    request.principal = principal;
    return principal === null || permits(principal, operation.presets) ? verdict : 'not permitted';
  });
}

function sendRefusal(operation: Operation, mount: Mount, error: DomainError, reply: FastifyReply): void {
  const { status, text } = encodeError(mount.revision.errors, operation, error);
  if (error.retryAfter !== null) reply.header('retry-after', error.retryAfter);
  sendEarlyFailure(reply, status, text);
}

function serve(
  operation: Operation,
  mount: Mount,
  context: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
): MaybeAsync<void> {
  const key = keyOf(request);
  if (key === null) {
    answerUnmatched(context.mounts, request, reply);
    return;
  }
  const attempt = () => {
    const body = bodyOf(operation, mount, request);
    const waiting = isStrangers(operation, mount, context, request) ? context.strangers : null;
    waiting?.expectRoom();
    if (operation.method !== 'GET') changeBegins();
    const handle = () => HANDLERS[operation.name]({ context, mount, request, key, body });
    const call =
      operation.effect.kind === 'reads'
        ? handle()
        : context.actors.during(request.principal, changedBy(operation, key), handle);
    return andThen(waiting === null ? call : waiting.count(call), (made) => sendAnswer(made, mount, reply));
  };
  return orElse(attempt, (error) => {
    if (!(error instanceof DomainError)) throw error;
    const isLogin = operation.name === 'login' && (error.code === 'unauthorized' || error.code === 'tooManyLogins');
    const wait = isLogin ? context.login.retryAfter(context.callerOf(request.raw)) : null;
    if (wait !== null) reply.header('retry-after', wait);
    sendDomainError(operation, mount, isOpenToAll(operation, mount, context) ? forStrangers(error) : error, reply);
  });
}

/**
 * Tells whether a request without a credential counts against the rate for such requests: it reads, or its operation
 * needs no credential.
 */
function isStrangers(operation: Operation, mount: Mount, context: RouteContext, request: FastifyRequest): boolean {
  return !request.hasCredential && (operation.effect.kind === 'reads' || isOpenToAll(operation, mount, context));
}

/** Returns what an operation changes, as far as its path tells. */
function changedBy({ subject }: Operation, key: string): readonly Changed[] {
  return key === '' ? CHANGED_BY[subject] : [key];
}

const CHANGED_BY: Readonly<Record<Subject, readonly Changed[]>> = {
  ...{ keys: [], audit: [], session: [], other: [] },
  ...{ configuration: [SETTINGS], rules: [SETTINGS], dns: [SETTINGS] },
};

/**
 * Returns the decoded key of the path, or an empty text if the route has no key; null for `/users/`, which no operation
 * serves.
 */
function keyOf(request: FastifyRequest): string | null {
  const { params } = request;
  if (typeof params !== 'object' || params === null || !('key' in params)) return '';
  return typeof params.key === 'string' && params.key !== '' ? params.key : null;
}

function bodyOf(operation: Operation, mount: Mount, request: FastifyRequest): unknown {
  const bytes = request.body instanceof Buffer ? request.body : undefined;
  switch (operation.body.kind) {
    case 'none':
      return undefined;
    case 'wholeConfig':
      return jsonBytes(null, request.sentContentType, bytes);
    case 'json': {
      const { takesArrays = false } = mount.revision;
      return readBody(operation.body.schema(mount.revision), request.sentContentType, bytes, { takesArrays });
    }
  }
}

/**
 * Sends a success past the framework, which would append a charset to a text (design: "Content types") and costs more
 * than the rest of a small answer. The body is a text because Node sends a text in one packet with the header; the
 * fields are a flat list because Node takes that without a conversion.
 */
function sendAnswer(
  { status = 200, payload, headers, settled }: OperationAnswer,
  { revision }: Mount,
  reply: FastifyReply,
): void {
  reply.hijack();
  if (settled !== undefined) whenAnswerIsOver(reply.raw, reply.request.raw.socket, settled);
  const length = bodyLength(payload);
  // On a 304 the length would describe the answer that it replaces (RFC 9110, 8.6).
  const content = status === 304 ? [] : ['content-type', JSON_TYPE, 'content-length', `${length}`];
  const fields = [...(revision.anyOrigin ? ANY_ORIGIN : []), ...content];
  if (headers !== undefined) fields.push(...Object.entries(headers).flat());
  reply.raw.writeHead(status, fields);
  sendBody(reply.raw, payload, length);
}

function sendDomainError(operation: Operation, mount: Mount, error: DomainError, reply: FastifyReply): FastifyReply {
  const { status, text } = encodeError(mount.revision.errors, operation, error);
  if (error.retryAfter !== null) reply.header('retry-after', error.retryAfter);
  return sendFailure(reply, status, text);
}
