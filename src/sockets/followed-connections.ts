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
  /** The request that came last while it is under way: of the others everything has come. */
  last: IncomingMessage | null;
  /** Since when nothing is taken of an answer, and how much of all answers was taken by then; null where nothing waits. */
  unread: { readonly taken: number; readonly since: number } | null;
  /** Tells whether that has lasted too long for a client that nothing is known of. */
  isUnread: boolean;
  /** Requests that it has been answered. */
  answers: number;
  /** Its state at the last look for idle ones. */
  found: { readonly answers: number; readonly bytesRead: number } | null;
}

/** Tells whether somebody waits for an answer on it; one that waits for a client that nothing is known of, to send or read, does not count. */
export function isBusy({ running, last, isUnread }: FollowedConnection): boolean {
  return !isUnread && running > (last !== null && awaitsBody(last) ? 1 : 0);
}

/** An observer of a server's connections. */
export interface ConnectionWatcher {
  /** False for a new one that is not let in: it is closed, and not followed. */
  readonly admits?: (connection: FollowedConnection) => boolean;
  readonly answered?: (connection: FollowedConnection) => void;
  readonly closed?: (connection: FollowedConnection) => void;
}

/** Between two looks for idle connections of a server that closes, in milliseconds. */
const IDLE_CHECK = 50;

const following = new WeakSet<CreateServer>();

/** The same servers, with their connections followed; those that are already stay as they are. */
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
 * Follows the connections of a server, and has its `closeIdleConnections`, which a server that closes calls, end them as soon
 * as nothing is under way on them: also one on which nothing was ever said, such as browsers open in advance, which Node leaves
 * open until its client goes. One whose request has arrived and not begun is spared. A few requests of each begin at a time
 * (src/sockets/request-queue.ts). Bodies that no credential vouches for keep to the pace, where there is one, and answers
 * that such clients do not read keep no connection busy.
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

  /** Finds the connection that TLS is spoken on: the two sockets know one another by their peer alone. */
  function pair(secure: Socket): void {
    const { remoteAddress, remotePort } = secure;
    for (const connection of open) {
      const { socket } = connection;
      if (socket.remotePort === remotePort && socket.remoteAddress === remoteAddress) {
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

  /** Ends those that were idle at the last look and have not been heard of since. */
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

  /** Always behind the reading of what has arrived, so that between two looks everything that waited was read. */
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
