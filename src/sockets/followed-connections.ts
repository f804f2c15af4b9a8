import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { awaitsBody, type BodyPace, createAwaitedBodies, isAccepted } from './awaited-bodies.js';
import { ownEvents } from './own-events.js';

/** A connection of a server, and what is under way on it. */
export interface FollowedConnection {
  readonly socket: Socket;
  /** The one that HTTP is spoken on: another where TLS is between them. */
  spoken: Socket;
  /** Requests whose answers are not out. */
  running: number;
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

/**
 * Follows the connections of a server, and has its `closeIdleConnections`, which a server that closes calls, end them as soon
 * as nothing is under way on them: also one on which nothing was ever said, such as browsers open in advance, which Node leaves
 * open until its client goes. One whose request has arrived and not begun is spared. What is thrown in an event of a connection
 * is known as its own. Bodies that no credential vouches for keep to the pace, where there is one, and answers that such
 * clients do not read keep no connection busy.
 */
export function followConnections<S extends Server>(
  server: S,
  watcher: ConnectionWatcher = {},
  pace: BodyPace | null = null,
): S {
  const bodies = pace === null ? null : createAwaitedBodies(pace);
  const open = new Set<FollowedConnection>();
  const bySocket = new WeakMap<Socket, FollowedConnection>();

  function follow(socket: Socket): void {
    const connection: FollowedConnection = {
      socket,
      spoken: socket,
      running: 0,
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

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = bySocket.get(request.socket);
    if (connection === undefined) return;
    connection.running += 1;
    connection.last = request;
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
    });
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

  server.on('connection', follow);
  server.on('secureConnection', pair);
  // Before the app, which may accept the request at once.
  server.prependListener('request', begin);
  server.closeIdleConnections = keepLooking;
  return ownEvents(server);
}
