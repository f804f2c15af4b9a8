import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The least pace of a body that no accepted credential vouches for. */
export interface BodyPace {
  /** Milliseconds that the whole of it may take, and that an answer to such a client may wait unread before it makes room. */
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

/** Lets the answers on this connection take their time: a request came on it with an accepted credential. */
export function acceptClient({ socket }: IncomingMessage): void {
  accepted.add(socket);
}

/** Tells whether a request with an accepted credential has come on this connection. */
export function isAccepted(socket: Socket): boolean {
  return accepted.has(socket);
}

/** The same for the body of this request, too. */
export function acceptBody(request: IncomingMessage): void {
  awaited.delete(request);
  acceptClient(request);
}

/** Lets the body of this request take as long as it keeps to the least rate: its client may do without a credential what others need one for. */
export function allowLongBody(request: IncomingMessage): void {
  const body = awaited.get(request);
  if (body !== undefined) body.until = Number.POSITIVE_INFINITY;
}

/** Calls back where the body of this request keeps behind its least pace, instead of ending the connection. */
export function whenBodyTooSlow(request: IncomingMessage, tooSlow: () => void): void {
  const body = awaited.get(request);
  if (body !== undefined) body.tooSlow = tooSlow;
}

/** Tells whether this request waits for a body of a client that nothing is known of. */
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
    /** To be called before anybody may accept the request. */
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
      const body = awaited.get(request);
      if (request.complete) requests.delete(request);
      // Nobody can be told of the rest of it.
      else if (body !== undefined) body.tooSlow = () => void request.socket.destroy();
    },
  };
}
