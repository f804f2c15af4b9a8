import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, type DomainErrorCode } from '../core/errors.js';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import { permits } from '../core/principal.js';
import type { StrangersWaiting } from '../core/strangers-waiting.js';
import type { TokenVerdict } from '../core/token-guard.js';
import { acceptBody, acceptClient, allowLongBody } from '../sockets/awaited-bodies.js';
import { changeBegins } from '../sockets/connection-to-blame.js';
import { JSON_TYPE } from '../wire/envelope.js';
import { encodeError, forStrangers } from '../wire/errors.js';
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
import { principalShown, rightnessOf } from './principal.js';
import type { Observing } from './request-observer.js';

export interface RouteContext extends AppOptions, HandlerContext {
  readonly observing: Observing;
  readonly strangers: StrangersWaiting;
}

export function serveOperations(app: FastifyInstance, mount: Mount, context: RouteContext): void {
  for (const operation of mount.operations) {
    const path = mount.api.replaceAll(':', '::') + operation.path.replace('{key}', ':key');
    const admits = (request: FastifyRequest) =>
      isOpenToAll(operation, mount, context) ? 'open' : admission(operation, mount, context, request);
    const refuse = (reply: FastifyReply, verdict: Refusal, code: DomainErrorCode = 'unauthorized') => {
      const wait = typeof verdict === 'number' ? verdict : null;
      const error = new DomainError(verdict === 'not permitted' ? 'notPermitted' : code, '', wait);
      const { status, text } = encodeError(mount.revision.errors, operation, error);
      if (wait !== null) reply.header('retry-after', wait);
      return sendEarlyFailure(reply, status, text);
    };
    const isAudit = operation.capability === 'audit';
    /** Seconds until a stranger may ask again; null where he may now, and for a caller who shows a credential that is right. */
    const waitOfStranger = (request: FastifyRequest, verdict: Admission): MaybeAsync<number | null> => {
      request.hasCredential = verdict === 'right';
      const wait = isAudit && verdict === 'open' ? context.rate.retryAfter(request.raw) : null;
      if (wait === null) return null;
      // To be let by is an answer to a guess, so that a wrong credential counts with the guard here as anywhere, and one that
      // the guard does not look at is a stranger's. Within the rate none is looked at: what is not asked for cannot be wrong.
      return mapMaybeAsync<Admission, number | null>(admission(operation, mount, context, request), (own) => {
        request.hasCredential = own === 'right';
        return request.hasCredential ? null : wait;
      });
    };
    const observer = context.observing(operation.name, mount);
    const headers = Object.entries(mount.headers ?? {});
    const begun = (reply: FastifyReply): void => {
      for (const [name, value] of headers) reply.raw.setHeader(name, value);
    };
    const used = context.use?.counting(mount.revision.id, operation.name) ?? null;
    const answer = (request: FastifyRequest, reply: FastifyReply) => {
      used?.(request.principal, request.headers['user-agent']);
      return serve(operation, mount, context, request, reply);
    };
    const route = {
      method: operation.method,
      url: path,
      bodyLimit: operation.bodyLimit,
      config: { observer, ownOriginOnly: !mount.revision.anyOrigin },
    };
    // The framework reads no body of a GET: nothing is to be decided before it, and a hook costs as much as the check.
    if (operation.method === 'GET') {
      app.route({
        ...route,
        handler: observer.around((request, reply) => {
          begun(reply);
          const admitted = (verdict: Admission) => {
            if (verdict !== 'open' && verdict !== 'right') return refuse(reply, verdict);
            if (verdict === 'right') acceptClient(request.raw);
            return mapMaybeAsync<number | null, unknown>(waitOfStranger(request, verdict), (wait) =>
              wait === null ? answer(request, reply) : sendTooMany(reply, wait),
            );
          };
          return mapMaybeAsync<Admission, unknown>(admits(request), admitted);
        }),
      });
      continue;
    }
    app.route({
      ...route,
      onRequest(request, reply, done) {
        observer.begun(request);
        begun(reply);
        const admitted = (verdict: Admission): void => {
          if (verdict !== 'open' && verdict !== 'right') {
            refuse(reply, verdict);
            observer.answered(request, reply);
            return;
          }
          const wait =
            operation.name === 'login' ? context.login.keepsWaiting(mount, context.callerOf(request.raw)) : null;
          if (wait !== null) {
            refuse(reply, wait, 'tooManyLogins');
            observer.answered(request, reply);
            return;
          }
          const begin = (rateWait: number | null): void => {
            if (rateWait !== null) {
              sendTooMany(reply, rateWait);
              observer.answered(request, reply);
              return;
            }
            if (request.hasCredential) acceptBody(request.raw);
            else if (!isOpenToAll(operation, mount, context)) allowLongBody(request.raw);
            keepBodyUninterpreted(operation.body.kind !== 'none', request);
            done();
          };
          const stranger = waitOfStranger(request, verdict);
          if (stranger instanceof Promise) stranger.then(begin).catch(done);
          else begin(stranger);
        };
        const verdict = admits(request);
        if (verdict instanceof Promise) verdict.then(admitted).catch(done);
        else admitted(verdict);
      },
      handler: observer.around(answer),
    });
  }
}

function isOpenToAll(operation: Operation, { revision }: Mount, { protectAudit, core }: RouteContext): boolean {
  if (accessOf(operation, revision) !== 'open') return false;
  return operation.capability !== 'audit' || !(protectAudit || core.audit.isProtected());
}

/** The way in which a request is let in: without being asked for a credential, or by one; or why it is not. */
type Admission = 'open' | TokenVerdict | 'not permitted';
type Refusal = Exclude<Admission, 'open' | 'right'>;

/** Protocol: "Access check for protected endpoints". A named token gets in everywhere, to what it may do. */
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
  const { network } = context.callerOf(request.raw);
  const verdict = context.tokens.check(network, authorization, (shown) =>
    mapMaybeAsync(principalShown(mount, context, shown), (principal) => {
      request.principal = principal;
      return rightnessOf(principal);
    }),
  );
  return mapMaybeAsync<TokenVerdict, Admission>(verdict, (judged) => {
    const { principal } = request;
    return judged === 'right' && principal !== null && !permits(principal, operation.presets)
      ? 'not permitted'
      : judged;
  });
}

/** Answers at once where the handler does: a promise per request is what small reads would spend most on. */
function serve(
  operation: Operation,
  mount: Mount,
  context: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const fail = (error: unknown): void => {
    if (!(error instanceof DomainError)) throw error;
    const isLogin = operation.name === 'login' && (error.code === 'unauthorized' || error.code === 'tooManyLogins');
    const wait = isLogin ? context.login.retryAfter(context.callerOf(request.raw)) : null;
    if (wait !== null) reply.header('retry-after', wait);
    sendDomainError(operation, mount, isOpenToAll(operation, mount, context) ? forStrangers(error) : error, reply);
  };
  const key = keyOf(request);
  if (key === null) {
    answerUnmatched(context.mounts, request, reply);
    return undefined;
  }
  try {
    const body = bodyOf(operation, mount, request);
    const waiting = isStrangers(operation, mount, context, request) ? context.strangers : null;
    waiting?.expectRoom();
    if (operation.method !== 'GET') changeBegins();
    const answer = HANDLERS[operation.name]({ context, mount, request, key, body });
    if (answer instanceof Promise) {
      const counted = waiting === null ? answer : waiting.count(answer);
      return counted.then((settled) => sendAnswer(settled, mount, reply)).catch(fail);
    }
    sendAnswer(answer, mount, reply);
  } catch (error) {
    fail(error);
  }
  return undefined;
}

/** Tells whether a request is one that anybody can make: without a credential, and for what needs none or changes nothing. */
function isStrangers(operation: Operation, mount: Mount, context: RouteContext, request: FastifyRequest): boolean {
  return !request.hasCredential && (operation.effect.kind === 'reads' || isOpenToAll(operation, mount, context));
}

/** The decoded key of the path, empty where the route has none; null for `/users/`, which no operation serves. */
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
 * Sends a success past the framework, which would append a charset to a text (design: "Content types"), and costs more
 * than the rest of a small answer. Texts rather than bytes, because Node sends a text together with the header, and the
 * fields as a flat list, which Node takes as it is.
 */
function sendAnswer(
  { status = 200, payload, headers, settled }: OperationAnswer,
  { revision }: Mount,
  reply: FastifyReply,
): void {
  reply.hijack();
  if (settled !== undefined) whenAnswerIsOver(reply.raw, reply.request.raw.socket, settled);
  const length = bodyLength(payload);
  // The length of a 304 would be that of the answer which it stands for (RFC 9110, 8.6).
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
