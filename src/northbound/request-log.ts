import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { keyDigest } from '../core/key-digest.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import type { CallerOf } from './caller.js';
import type { Caller } from './peers.js';

export type RequestLog = ReturnType<typeof createRequestLog>;

/** The path of a subscription as it shows: its token is a secret, and so is the way to it. */
const SUBSCRIPTION_PATH = '(subscription)';

/** The requests that get a line: reads that were answered are many, and `changes` leaves them out. */
export type LoggedRequests = 'changes' | 'all' | 'none';

export interface RequestLogOptions {
  readonly requestLog: LoggedRequests;
  readonly log: LogPort;
  readonly clock: ClockPort;
  readonly callerOf: CallerOf;
}

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** The path is the route's template: a key in it shows as its digest (design: "Secrets in logs"). */
export function createRequestLog({ requestLog, log, clock, callerOf }: RequestLogOptions) {
  const whenClosed = createClosings();

  /** The request begins: takes down who calls, which the system may not tell later. */
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
    /** It has its answer; the line is written when that has gone out, or cannot any more. */
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
      // Node says so as well when the system did not take it.
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
 * Calls back when a connection closes: an answer that waits behind another one of its connection is not told of it. Gives
 * what ends the waiting, and says whether it had not ended before. One listener for all answers of a connection.
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
    /** Null where nobody logs. */
    caller: Caller | null;
  }
}
