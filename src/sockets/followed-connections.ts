import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { awaitsBody, BODY_PACE, type BodyPace, createAwaitedBodies, isAccepted } from './awaited-bodies.js';
import { noteParser } from './connection-to-blame.js';
import { type QueuedConnection, RequestQueue } from './request-queue.js';

/** Makes the server that listens for an app; `createServer` of `node:http` makes a plain one. */
export type CreateServer = (options: ServerOptions, listener: RequestListener) => Server;

/** A connection of a server, and what is under way on it. */
export interface FollowedConnection extends QueuedConnection {
  spoken: Socket;
  running: number;
  /** Forgets its parser; null before the first request. */
  forgetParser: (() => void) | null;
  /** The last request while it is under way; all earlier ones have arrived whole. */
  last: IncomingMessage | null;
  /** Since when the client has read nothing of an answer, and how much it had read of all; null for none. */
  unread: { readonly taken: number; readonly since: number } | null;
  /** Tells whether that has lasted too long for a client without an accepted credential. */
  isUnread: boolean;
  /** The number of requests answered on it. */
  answers: number;
  /** Its state at the last look for idle ones. */
  found: { readonly answers: number; readonly bytesRead: number } | null;
}

/**
 * Tells whether a client waits for an answer on it; one without an accepted credential that is too slow to send or read
 * does not count.
 */
export function isBusy({ running, last, isUnread }: FollowedConnection): boolean {
  return !isUnread && running > (last !== null && awaitsBody(last) ? 1 : 0);
}

/** An observer of a server's connections. */
export interface ConnectionWatcher {
  /** Returns false to reject a new connection, which is closed and not followed. */
  readonly admits?: (connection: FollowedConnection) => boolean;
  readonly answered?: (connection: FollowedConnection) => void;
  readonly closed?: (connection: FollowedConnection) => void;
}

/** Between two looks for idle connections of a server that closes, in milliseconds. */
const IDLE_CHECK = 50;

const following = new WeakSet<CreateServer>();

/** Wraps `create` so that it follows its servers' connections; those followed already stay as they are. */
export function withFollowed(
  create: CreateServer,
  watcher: ConnectionWatcher = {},
  pace: BodyPace | null = BODY_PACE,
): CreateServer {
  if (following.has(create)) return create;
  const made: CreateServer = (options, listener) => {
    const followed = createFollowed(listener, watcher, pace);
    return followed.follow(create(options, followed.listener));
  };
  following.add(made);
  return made;
}

/**
 * Follows the connections of a server. Its `closeIdleConnections`, which a closing server calls, then ends each one as
 * soon as nothing is under way on it, including those that browsers open in advance, which Node leaves open until the
 * client goes. A connection whose request has arrived but not begun is spared. Each begins a few requests at a time
 * (src/sockets/request-queue.ts). Without an accepted credential bodies must keep to the pace, if one is set, and
 * unread answers do not keep a connection busy.
 */
function createFollowed(listener: RequestListener, watcher: ConnectionWatcher, pace: BodyPace | null) {
  const queue = new RequestQueue<FollowedConnection>(begin);
  const bodies = pace === null ? null : createAwaitedBodies(pace);
  const open = new Set<FollowedConnection>();
  const bySocket = new WeakMap<Socket, FollowedConnection>();

  function follow(this: Server, socket: Socket): void {
    const connection: FollowedConnection = {
      socket,
      spoken: socket,
      isLocal: typeof this.address() === 'string',
      running: 0,
      waiting: [],
      wasHeld: false,
      isClosing: false,
      forgetParser: null,
      last: null,
      unread: null,
      isUnread: false,
      answers: 0,
      found: null,
    };
    if (watcher.admits?.(connection) === false) {
      socket.destroy();
      return;
    }
    open.add(connection);
    bySocket.set(socket, connection);
    socket.once('close', () => {
      open.delete(connection);
      queue.drop(connection);
      connection.forgetParser?.();
      watcher.closed?.(connection);
    });
  }

  /** Finds the connection under a TLS socket by its two ends, since the two sockets do not refer to one another. */
  function pair(secure: Socket): void {
    const { remoteAddress, remotePort, localAddress } = secure;
    for (const connection of open) {
      const { socket } = connection;
      const isPeer = socket.remotePort === remotePort && socket.remoteAddress === remoteAddress;
      if (isPeer && socket.localAddress === localAddress) {
        bySocket.set(secure, connection);
        connection.spoken = secure;
        return;
      }
    }
  }

  function take(request: IncomingMessage, response: ServerResponse): void {
    const connection = bySocket.get(request.socket);
    if (connection === undefined) return;
    connection.forgetParser ??= noteParser(request.socket);
    queue.take(connection, request, response);
  }

  function begin(connection: FollowedConnection, request: IncomingMessage, response: ServerResponse): void {
    connection.running += 1;
    connection.last = request;
    // Before the app, which may accept the request at once.
    bodies?.begin(request);
    keepLookingForUnread();
    response.on('close', () => {
      connection.running -= 1;
      if (connection.last === request) connection.last = null;
      bodies?.answered(request);
      connection.answers += 1;
      connection.unread = null;
      connection.isUnread = false;
      watcher.answered?.(connection);
      queue.goOn(connection);
    });
    listener(request, response);
    // The framework says so at once of each answer of a server that stops.
    if (response.getHeader('connection') === 'close') connection.isClosing = true;
  }

  let awaitsLook = false;

  function keepLookingForUnread(): void {
    if (pace === null || awaitsLook) return;
    awaitsLook = true;
    setTimeout(lookForUnread, pace.whole / 5, pace.whole).unref();
  }

  function lookForUnread(longest: number): void {
    awaitsLook = false;
    const now = performance.now();
    for (const connection of open) {
      const { spoken, running, unread } = connection;
      if (running > 0) keepLookingForUnread();
      const taken = spoken.bytesWritten - spoken.writableLength;
      const waits = running > 0 && spoken.writableLength > 0 && !isAccepted(spoken);
      if (!waits) connection.unread = null;
      else if (unread?.taken !== taken) connection.unread = { taken, since: now };
      connection.isUnread = connection.unread !== null && now - connection.unread.since >= longest;
    }
  }

  /** Ends connections that were idle at the last look and have been silent since. */
  function look(): void {
    for (const connection of open) {
      const { running, answers, found, socket } = connection;
      const { bytesRead } = socket;
      const isSame = found !== null && found.answers === answers && found.bytesRead === bytesRead;
      if (running === 0 && isSame) socket.destroy();
      else connection.found = running === 0 ? { answers, bytesRead } : null;
    }
  }

  let isLooking = false;

  /** Looks only after arrived data has been read, so that everything waiting is read between two looks. */
  function keepLooking(): void {
    if (isLooking) return;
    isLooking = true;
    const next = () => {
      look();
      isLooking = open.size > 0;
      if (isLooking) setTimeout(() => setImmediate(next), IDLE_CHECK);
    };
    setImmediate(next);
  }

  return {
    listener: take,
    follow(server: Server): Server {
      server.closeIdleConnections = keepLooking;
      return server.on('connection', follow).on('secureConnection', pair);
    },
  };
}
