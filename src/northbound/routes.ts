import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { DomainError } from '../core/errors.js';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import type { TokenVerdict } from '../core/token-guard.js';
import { acceptBody, acceptClient, allowLongBody } from '../sockets/awaited-bodies.js';
import { changeBegins } from '../sockets/own-events.js';
import { JSON_TYPE } from '../wire/envelope.js';
import { encodeError, forStrangers } from '../wire/errors.js';
import type { JsonValue } from '../wire/json/json.js';
import { parseBody } from '../wire/json-body.js';
import type { Operation } from '../wire/operations.js';
import { checked, expectation, SchemaError } from '../wire/schema-check.js';
import { accepts } from '../wire/traits/auth.js';
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
import { HANDLERS, type HandlerContext, type OperationAnswer } from './handlers.js';
import type { Mount } from './mount.js';
import type { Observing } from './request-observer.js';

/** The context of one mount's routes. */
export type RouteContext = AppOptions & HandlerContext & { readonly observing: Observing };

/** Registers every operation that the mount serves. */
export function serveOperations(app: FastifyInstance, mount: Mount, context: RouteContext): void {
  for (const operation of mount.operations) {
    const path = mount.api.replaceAll(':', '::') + operation.path.replace('{key}', ':key');
    const admits = (request: FastifyRequest) =>
      isOpenToAll(operation, context) ? 'open' : admission(mount, context, request);
    const refuse = (reply: FastifyReply, verdict: Refusal) => {
      if (verdict !== 'wrong') reply.header('retry-after', verdict);
      const { status, text } = encodeError(mount.revision.errors, operation, new DomainError('unauthorized'));
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
      return mapMaybeAsync<Admission, number | null>(admission(mount, context, request), (own) => {
        request.hasCredential = own === 'right';
        return request.hasCredential ? null : wait;
      });
    };
    const observer = context.observing(operation.name, mount);
    const route = { method: operation.method, url: path, bodyLimit: operation.bodyLimit, config: { observer } };
    // The framework reads no body of a GET: nothing is to be decided before it, and a hook costs as much as the check.
    if (operation.method === 'GET') {
      app.route({
        ...route,
        handler: observer.around((request, reply) => {
          const admitted = (verdict: Admission) => {
            if (verdict !== 'open' && verdict !== 'right') return refuse(reply, verdict);
            if (verdict === 'right') acceptClient(request.raw);
            return mapMaybeAsync<number | null, unknown>(waitOfStranger(request, verdict), (wait) =>
              wait === null ? serve(operation, mount, context, request, reply) : sendTooMany(reply, wait),
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
        const admitted = (verdict: Admission): void => {
          if (verdict !== 'open' && verdict !== 'right') {
            refuse(reply, verdict);
            observer.answered(request, reply);
            return;
          }
          const wait =
            operation.name === 'login' ? context.login.keepsWaiting(mount, context.callerOf(request.raw)) : null;
          if (wait !== null) {
            refuse(reply, wait);
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
            else if (!isOpenToAll(operation, context)) allowLongBody(request.raw);
            keepBodyUninterpreted(operation, request);
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
      handler: observer.around((request, reply) => serve(operation, mount, context, request, reply)),
    });
  }
}

function isOpenToAll(operation: Operation, context: RouteContext): boolean {
  return operation.access === 'open' && !(context.protectAudit && operation.capability === 'audit');
}

/** The way in which a request is let in: without being asked for a credential, or by one; or why it is not. */
type Admission = 'open' | TokenVerdict;
type Refusal = Exclude<TokenVerdict, 'right'>;

/** Protocol: "Access check for protected endpoints". */
function admission(mount: Mount, context: RouteContext, request: FastifyRequest): MaybeAsync<Admission> {
  const credentials = context.credentials();
  const { auth } = mount.revision;
  if (auth.isOpen(credentials)) return context.refusesOpen(mount) ? 'wrong' : 'open';
  return context.tokens.check(context.callerOf(request.raw).network, request.headers.authorization, (authorization) =>
    accepts(auth, authorization, credentials, mount.session),
  );
}

/**
 * Keeps the framework from judging a content type: ours to judge, with an envelope. Operations without a body see none,
 * whatever a client sends (design: "A body with another content type").
 */
function keepBodyUninterpreted(operation: Operation, request: FastifyRequest): void {
  const { headers } = request.raw;
  request.sentContentType = headers['content-type'];
  delete headers['content-type'];
  if (operation.body.kind === 'none') {
    delete headers['content-length'];
    delete headers['transfer-encoding'];
  } else if (request.sentContentType !== undefined) headers['content-type'] = 'application/octet-stream';
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
    const isLogin = operation.name === 'login' && error.code === 'unauthorized';
    const wait = isLogin ? context.login.retryAfter(context.callerOf(request.raw)) : null;
    if (wait !== null) reply.header('retry-after', wait);
    sendDomainError(operation, mount, isOpenToAll(operation, context) ? forStrangers(error) : error, reply);
  };
  const key = keyOf(request);
  if (key === null) {
    answerUnmatched(context.mounts, request, reply);
    return undefined;
  }
  try {
    const body = bodyOf(operation, mount, request);
    if (operation.method !== 'GET') changeBegins();
    const answer = HANDLERS[operation.name]({ context, mount, request, key, body });
    if (answer instanceof Promise) return answer.then((settled) => sendAnswer(settled, reply)).catch(fail);
    sendAnswer(answer, reply);
  } catch (error) {
    fail(error);
  }
  return undefined;
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
    case 'json':
      return readBody(operation.body.schema(mount.revision), request.sentContentType, bytes);
  }
}

/**
 * The body as a value that the schema describes, integers as bigint. Throws `notJson` for another content type and
 * `invalidBody`, whose detail names the member and what was expected, for anything else that is wrong with it.
 */
function readBody(schema: TSchema, contentType: string | undefined, bytes: Buffer | undefined): JsonValue {
  const value = parseBody(jsonBytes(schema, contentType, bytes));
  try {
    checked(schema, value, 'body');
  } catch (error) {
    if (error instanceof SchemaError) throw new DomainError('invalidBody', error.message);
    throw error;
  }
  return value;
}

/** The body's bytes when they are there and declared to be JSON. */
function jsonBytes(schema: TSchema | null, contentType: string | undefined, bytes: Buffer | undefined): Buffer {
  if (bytes === undefined || bytes.length === 0) {
    throw new DomainError('invalidBody', `body is missing: expected ${expectation(schema) ?? 'a JSON object'}`);
  }
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '')) throw new DomainError('notJson');
  return bytes;
}

/**
 * Sends a success past the framework, which would append a charset to a text (design: "Content types"), and costs more
 * than the rest of a small answer. Texts rather than bytes, because Node sends a text together with the header, and the
 * fields as a flat list, which Node takes as it is.
 */
function sendAnswer({ payload, headers, settled }: OperationAnswer, reply: FastifyReply): void {
  reply.hijack();
  if (settled !== undefined) whenAnswerIsOver(reply.raw, reply.request.raw.socket, settled);
  const length = bodyLength(payload);
  const fields = [...ANY_ORIGIN, 'content-type', JSON_TYPE, 'content-length', `${length}`];
  if (headers !== undefined) fields.push(...Object.entries(headers).flat());
  reply.raw.writeHead(200, fields);
  sendBody(reply.raw, payload, length);
}

function sendDomainError(operation: Operation, mount: Mount, error: DomainError, reply: FastifyReply): FastifyReply {
  const { status, text } = encodeError(mount.revision.errors, operation, error);
  if (error.retryAfter !== null) reply.header('retry-after', error.retryAfter);
  return sendFailure(reply, status, text);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` as the client sent it. */
    sentContentType: string | undefined;
  }
}
