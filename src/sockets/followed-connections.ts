import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { awaitsBody, type BodyPace, createAwaitedBodies } from './awaited-bodies.js';
import { ownEvents } from './own-events.js';

/** A connection of a server, and what is under way on it. */
export interface FollowedConnection {
  readonly socket: Socket;
  /** Requests whose answers are not out. */
  running: number;
  /** The request that came last while it is under way: of the others everything has come. */
  last: IncomingMessage | null;
  /** How many requests it has been answered. */
  answers: number;
  /** How it was found at the last look for idle ones. */
  found: { readonly answers: number; readonly bytesRead: number } | null;
}

/** Whether somebody waits for an answer on it; one that waits for a client that nothing is known of does not count. */
export function isBusy({ running, last }: FollowedConnection): boolean {
  return running > (last !== null && awaitsBody(last) ? 1 : 0);
}

/** Who wants to know of the connections of a server. */
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
 * is known as its own. Bodies that no
 * credential vouches for keep to the pace, where there is one.
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
    const connection: FollowedConnection = { socket, running: 0, last: null, answers: 0, found: null };
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
    response.on('close', () => {
      connection.running -= 1;
      if (connection.last === request) connection.last = null;
      bodies?.answered(request);
      connection.answers += 1;
      watcher.answered?.(connection);
    });
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
