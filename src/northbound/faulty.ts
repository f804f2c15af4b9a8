import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { messageOf } from '../core/errors.js';
import type { Fault } from '../core/faults.js';
import type { Credentials } from '../core/model.js';
import { acceptBody } from '../sockets/awaited-bodies.js';
import { JSON_TYPE, successEnvelope } from '../wire/envelope.js';
import { sendEarlyFailure, sendFailure } from './answers.js';
import type { RouteObserver } from './request-observer.js';

/** The faults of a gateway for tests, and what sets them. */
export interface FaultyOptions {
  readonly credentials: () => Credentials;
  /** Returns the fault for the next request. */
  next(): Fault;
  /** Throws an `Error` whose message is meant for the user. */
  setFault(text: string): void;
  /** Rejects with an `Error` whose message is meant for the user. */
  replaceState(bytes: Buffer): Promise<void>;
}

/** The paths by which a test sets faults and state; they have no fault themselves. */
const CONTROL = '/.keyway/';
const MOST_STATE = 64 * 1024 * 1024;

/** Gives an app the faults of a gateway for tests, on every path except the control paths. */
export function serveFaults(app: FastifyInstance, options: FaultyOptions, observer: RouteObserver): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith(CONTROL)) {
      // A new state's body is received like that of a client with a credential.
      request.hasCredential = true;
      acceptBody(request.raw);
      return;
    }
    const fault = options.next();
    if (fault.kind === 'none') return;
    observer.begun(request);
    await suffer(fault, request, reply, options);
    if (reply.sent) observer.answered(request, reply);
  });
  app.put<{ Params: { readonly fault: string } }>(`${CONTROL}fault/:fault`, (request, reply) => {
    return control(reply, async () => options.setFault(request.params.fault));
  });
  app.put(`${CONTROL}state`, { bodyLimit: MOST_STATE }, (request, reply) => {
    return control(reply, async () =>
      options.replaceState(request.body instanceof Buffer ? request.body : Buffer.of()),
    );
  });
}

/** Applies the fault; the request goes on if the fault has not answered it. */
async function suffer(
  { kind, milliseconds }: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
  { credentials }: FaultyOptions,
): Promise<void> {
  if (kind === 'slow') {
    acceptBody(request.raw);
    await sleep(milliseconds);
  } else if (kind === 'error') sendEarlyFailure(reply, 500, 'internal error');
  else if (kind === 'away') {
    reply.hijack();
    request.raw.destroy();
  } else if (kind === 'signed-out') {
    const { authorization = '' } = request.headers;
    // Without a credential it is refused as its revision does that, and does not count as a guess.
    if (authorization.replace(/^Bearer /, '') === credentials().token) delete request.headers.authorization;
  }
}

async function control(reply: FastifyReply, change: () => Promise<void>): Promise<FastifyReply> {
  try {
    await change();
    return reply.header('content-type', JSON_TYPE).send(successEnvelope(null));
  } catch (error) {
    return sendFailure(reply, 400, messageOf(error));
  }
}
