import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The least pace of a body without an accepted credential. */
export interface BodyPace {
  /** Milliseconds for the whole body, and until an answer that such a client leaves unread makes room. */
  readonly whole: number;
  /** Bytes that come within each `window` at least. */
  readonly leastBytes: number;
  /** Milliseconds. */
  readonly window: number;
}

/** 10 s, and 1 KiB/s over 5 s. */
export const BODY_PACE: BodyPace = { whole: 10_000, window: 5_000, leastBytes: 5 * 1024 };

interface AwaitedBody {
  /** The deadline for the whole of it. */
  until: number;
  windowAt: number;
  bytesAtWindow: number;
  tooSlow: () => void;
}

const awaited = new WeakMap<IncomingMessage, AwaitedBody>();

const accepted = new WeakSet<Socket>();

/** Lifts the pace for answers on this connection, because a request on it showed an accepted credential. */
export function acceptClient({ socket }: IncomingMessage): void {
  accepted.add(socket);
}

/** Tells whether a request with an accepted credential has come on this connection. */
export function isAccepted(socket: Socket): boolean {
  return accepted.has(socket);
}

/** Lifts the pace for this request's body as well. */
export function acceptBody(request: IncomingMessage): void {
  awaited.delete(request);
  acceptClient(request);
}

/** Lifts the deadline, but not the least pace, for this body: its mount serves callers without a credential. */
export function allowLongBody(request: IncomingMessage): void {
  const body = awaited.get(request);
  if (body !== undefined) body.until = Number.POSITIVE_INFINITY;
}

/** Calls back, instead of ending the connection, if this request's body falls behind its least pace. */
export function whenBodyTooSlow(request: IncomingMessage, tooSlow: () => void): void {
  const body = awaited.get(request);
  if (body !== undefined) body.tooSlow = tooSlow;
}

/** Tells whether this request waits for the body of a client without an accepted credential. */
export function awaitsBody(request: IncomingMessage): boolean {
  return awaited.has(request) && !request.complete;
}

export function createAwaitedBodies({ whole, window, leastBytes }: BodyPace) {
  const requests = new Set<IncomingMessage>();
  let timer: NodeJS.Timeout | null = null;

  function look(): void {
    timer = null;
    const now = performance.now();
    for (const request of requests) {
      const body = awaited.get(request);
      if (body === undefined || request.complete || request.socket.destroyed) {
        requests.delete(request);
        continue;
      }
      const { bytesRead } = request.socket;
      const hasFullWindow = now - body.windowAt >= window;
      if (now >= body.until || (hasFullWindow && bytesRead - body.bytesAtWindow < leastBytes)) {
        requests.delete(request);
        awaited.delete(request);
        body.tooSlow();
      } else if (hasFullWindow) Object.assign(body, { windowAt: now, bytesAtWindow: bytesRead });
    }
    keepLooking();
  }

  function keepLooking(): void {
    if (timer === null && requests.size > 0) timer = setTimeout(look, window / 5).unref();
  }

  return {
    /** Starts to watch a request; called before the app sees it. */
    begin(request: IncomingMessage): void {
      const { headers, socket } = request;
      if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return;
      const now = performance.now();
      const tooSlow = () => void socket.destroy();
      awaited.set(request, { until: now + whole, windowAt: now, bytesAtWindow: socket.bytesRead, tooSlow });
      requests.add(request);
      keepLooking();
    },
    answered(request: IncomingMessage): void {
      if (request.complete) requests.delete(request);
      // There is no way left to report the rest.
      else whenBodyTooSlow(request, () => void request.socket.destroy());
    },
  };
}
