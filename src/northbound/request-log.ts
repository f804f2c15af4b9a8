import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { keyDigest } from '../core/key-digest.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import type { CallerOf } from './caller.js';
import type { Caller } from './peers.js';

export type RequestLog = ReturnType<typeof createRequestLog>;

/** The logged path of a subscription, because its token is a secret, and so is its prefix. */
const SUBSCRIPTION_PATH = '(subscription)';

/** The requests that get a line; `changes` leaves out successful reads, which are many. */
export type LoggedRequests = 'changes' | 'all' | 'none';

export interface RequestLogOptions {
  readonly requestLog: LoggedRequests;
  readonly log: LogPort;
  readonly clock: ClockPort;
  readonly callerOf: CallerOf;
}

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** Logs requests. The path is the route's template; a key in it appears as its digest (design: "Secrets in logs"). */
export function createRequestLog({ requestLog, log, clock, callerOf }: RequestLogOptions) {
  const whenClosed = createClosings();

  /** Records the caller when the request begins, because the system may not know it later. */
  function begun(request: FastifyRequest): void {
    request.caller ??= callerOf(request.raw);
  }

  function write(request: FastifyRequest, reply: FastifyReply, taken: boolean): void {
    const now = clock.monotonic();
    const { subscriber } = request;
    const key = subscriber ?? keyIn(request.params);
    log.info(
      {
        method: request.method,
        path: subscriber === null ? (request.routeOptions.url ?? '(unmatched)') : SUBSCRIPTION_PATH,
        ...(key === undefined ? {} : { key: keyDigest(key) }),
        status: reply.raw.statusCode,
        milliseconds: Math.round((now - (request.begunAt ?? now)) * 10) / 10,
        address: request.caller?.address,
        ...(taken ? {} : { taken }),
      },
      'request',
    );
  }

  return {
    begun,
    /** Writes the line once the answer has been sent, or can no longer be. */
    answered(request: FastifyRequest, reply: FastifyReply): void {
      if (requestLog === 'changes' && READS.includes(request.method) && reply.statusCode < 400) return;
      begun(request);
      const { socket } = request.raw;
      if (socket.destroyed) {
        write(request, reply, false);
        return;
      }
      const settle = (taken: boolean) => {
        if (stopWaiting()) write(request, reply, taken);
      };
      const stopWaiting = whenClosed(socket, () => settle(false));
      // Node emits `finish` even if the system did not accept the bytes.
      reply.raw.once('finish', () => settle(!socket.errored));
      // An injected request has no connection, and is finished by now.
      reply.raw.once('close', () => settle(!socket.destroyed));
    },
  };
}

function keyIn(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null || !('key' in params)) return undefined;
  return typeof params.key === 'string' ? params.key : undefined;
}

/**
 * Calls back when a connection closes, because an answer that is queued behind another one on its connection is not
 * notified. Returns a function that stops the waiting, and tells whether it was still waiting. All answers of a
 * connection share one listener.
 */
function createClosings() {
  const waiting = new WeakMap<Socket, Set<() => void>>();
  return (socket: Socket, closed: () => void): (() => boolean) => {
    let present = waiting.get(socket);
    if (present === undefined) {
      const added = new Set<() => void>();
      present = added;
      waiting.set(socket, added);
      socket.once('close', () => {
        for (const call of [...added]) call();
      });
    }
    const set = present;
    set.add(closed);
    return () => set.delete(closed);
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if requests are not logged. */
    caller: Caller | null;
  }
}
