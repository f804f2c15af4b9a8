import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../core/errors.js';
import { JSON_TYPE } from '../wire/envelope.js';
import { errorAnswer } from '../wire/errors.js';
import { type Operation, operationsWith } from '../wire/operations.js';
import { answerUnmatched, sendFailure } from './answers.js';
import type { AppOptions } from './app-options.js';
import { type Answer, type Call, HANDLERS } from './handlers.js';
import type { ListBody } from './list-body.js';
import type { Login } from './login.js';
import type { Mount } from './mount.js';
import { jsonBytes, readBody } from './request-body.js';

/** What the routes of one mount share. */
export interface RouteContext extends AppOptions {
  readonly login: Login;
  readonly list: ListBody;
}

/** Registers every operation that the mount's revision serves. */
export function serveOperations(app: FastifyInstance, mount: Mount, context: RouteContext): void {
  for (const operation of operationsWith(mount.revision.capabilities)) {
    const path = mount.api.replaceAll(':', '::') + operation.path.replace('{key}', ':key');
    app.route({
      method: operation.method,
      url: path,
      bodyLimit: operation.bodyLimit,
      onRequest(request, reply, done) {
        if (isOpenToAll(operation, context) || mayPass(mount, context, request)) {
          keepBodyUninterpreted(operation, request);
          done();
          return;
        }
        sendDomainError(operation, new DomainError('unauthorized'), reply);
      },
      handler: (request, reply) => serve(operation, mount, context, request, reply),
    });
  }
}

function isOpenToAll(operation: Operation, context: RouteContext): boolean {
  return operation.access === 'open' && !(context.protectAudit && operation.capability === 'audit');
}

/** Spec, "Access check for protected endpoints". */
function mayPass(mount: Mount, context: RouteContext, request: FastifyRequest): boolean {
  const credentials = context.credentials();
  const { auth } = mount.revision;
  if (auth.isOpen(credentials)) return !context.refusesOpen(mount);
  return auth.accepts(request.headers.authorization, credentials, mount.session);
}

/**
 * Keeps the framework from judging a content type: ours to judge, with an envelope. Operations without a body see none,
 * whatever a client sends (design: "a body with another content type").
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

async function serve(
  operation: Operation,
  mount: Mount,
  context: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const key = keyOf(request);
  if (key === null) return answerUnmatched(context.mounts, request, reply);
  try {
    const call: Call = {
      core: context.core,
      mount,
      announced: context.announced(),
      list: context.list,
      login: context.login,
      key,
      body: bodyOf(operation, mount, request),
      header: (name) => request.headers[name],
      address: request.ip,
    };
    return sendAnswer(await HANDLERS[operation.name](call), reply);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const wait =
      operation.name === 'login' && error.code === 'unauthorized' ? context.login.retryAfter(request.ip) : null;
    if (wait !== null) reply.header('retry-after', wait);
    return sendDomainError(operation, error, reply);
  }
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
    case 'dnsForm':
      return readBody(mount.revision.dnsForm.schema, request.sentContentType, bytes);
    case 'json':
      return readBody(operation.body.schema, request.sentContentType, bytes);
  }
}

function sendAnswer({ payload, headers }: Answer, reply: FastifyReply): FastifyReply {
  if (headers !== undefined) reply.headers(headers);
  return reply.header('content-type', JSON_TYPE).send(payload);
}

function sendDomainError(operation: Operation, error: DomainError, reply: FastifyReply): FastifyReply {
  const { status, text } = errorAnswer(operation.name, error);
  return sendFailure(reply, status, text);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` as the client sent it. */
    sentContentType: string | undefined;
  }
}
