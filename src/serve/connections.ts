import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LogPort } from '../core/ports.js';
import { trustOf } from '../northbound/caller.js';
import { allowHalfClose } from '../northbound/half-close.js';
import { notePeers, peerOf, UNIX_PEER } from '../northbound/peers.js';
import type { CreateServer } from '../sockets/http-server.js';
import { type BoundedConnection, createOpenConnections, type PassedBound } from '../sockets/open-connections.js';

export type ListenerName = 'api' | 'subscriptions' | 'feed' | 'ops';

/** What is read of one listener; counts are since the start. */
export interface ListenerFigures {
  readonly listener: ListenerName;
  readonly open: number;
  /** Idle ones that made room. */
  readonly closedIdle: Readonly<Record<PassedBound, number>>;
  /** New ones that found none. */
  readonly refused: Readonly<Record<PassedBound, number>>;
}

export interface ConnectionsOptions {
  /** Of each listener, at most. */
  readonly most: number;
  /** Addresses or networks that have no share: whoever comes through them is many. */
  readonly trustProxy: readonly string[];
  readonly log: LogPort;
}

/**
 * The connections of every listener. A full listener closes the one that is idle longest, on which no request is under way,
 * and refuses a new one where none is; one address (IPv6: one /64) has at most a quarter, for which the same holds among its
 * own. Peers on Unix sockets have no address and no share.
 */
export interface Connections {
  /**
   * What makes the servers of a listener, of plain ones when no other maker is given. Their `closeIdleConnections`, which
   * a server that closes calls, spares a connection whose request has arrived and not begun.
   */
  serverFor(listener: ListenerName, make?: CreateServer): CreateServer;
  /** Of every listener that has a server. */
  figures(): readonly ListenerFigures[];
}

export function createConnections(options: ConnectionsOptions): Connections {
  const listeners = new Map<ListenerName, Listener>();
  return {
    serverFor(name, make = createServer) {
      const listener = listeners.get(name) ?? createListener(name, options);
      listeners.set(name, listener);
      return (serverOptions, handler) => {
        const server = make(serverOptions, handler);
        allowHalfClose(server);
        notePeers(server);
        listener.watch(server);
        return server;
      };
    },
    figures: () => [...listeners.values()].map(({ figures }) => figures()),
  };
}

interface Listener {
  watch(server: Server): void;
  figures(): ListenerFigures;
}

interface Connection extends BoundedConnection {
  readonly socket: Socket;
  /** Requests whose answers are not out. */
  running: number;
  /** How many requests it has been answered. */
  answers: number;
  readonly answered: () => void;
  /** How it was found at the last look for idle ones. */
  found: { readonly answers: number; readonly bytesRead: number } | null;
}

/** Between two looks for idle connections of a server that closes, in milliseconds. */
const IDLE_CHECK = 50;

function createListener(name: ListenerName, { most, trustProxy, log }: ConnectionsOptions): Listener {
  const isTrusted = trustOf(trustProxy);
  const open = createOpenConnections<Connection>(most);
  const bySocket = new WeakMap<Socket, Connection>();
  const closedIdle = { full: 0, share: 0 };
  const refused = { full: 0, share: 0 };
  const tell = createTelling(name, log);

  function end(connection: Connection): void {
    open.remove(connection);
    connection.socket.destroy();
  }

  /** Whether there is room for one more, after closing idle ones if need be. */
  function makeRoom(network: string | null, address: string): boolean {
    for (let bound = open.passedBy(network); bound !== null; bound = open.passedBy(network)) {
      const idle = open.idleLongest(bound === 'share' ? network : null);
      if (idle === null) refused[bound] += 1;
      else {
        end(idle);
        closedIdle[bound] += 1;
      }
      tell(bound, address);
      if (idle === null) return false;
    }
    return true;
  }

  function admit(socket: Socket): void {
    const { address, network } = peerOf(socket);
    const counted = address === UNIX_PEER || isTrusted(address) ? null : network;
    if (!makeRoom(counted, address)) {
      socket.destroy();
      return;
    }
    const connection: Connection = {
      socket,
      network: counted,
      running: 0,
      answers: 0,
      found: null,
      isBusy: () => connection.running > 0,
      answered() {
        connection.running -= 1;
        connection.answers += 1;
        // One that is closed already is not open again.
        if (open.has(connection)) open.touch(connection);
      },
    };
    open.touch(connection);
    bySocket.set(socket, connection);
    socket.once('close', () => open.remove(connection));
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = bySocket.get(request.socket);
    if (connection === undefined) return;
    connection.running += 1;
    response.on('close', connection.answered);
  }

  /** Ends those that were idle at the last look and have not been heard of since. */
  function look(): void {
    for (const connection of open) {
      const { running, answers, found, socket } = connection;
      const { bytesRead } = socket;
      const isSame = found !== null && found.answers === answers && found.bytesRead === bytesRead;
      if (running === 0 && isSame) end(connection);
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
    watch(server) {
      server.on('connection', admit);
      server.on('secureConnection', createPairing(bySocket, open));
      server.on('request', begin);
      server.closeIdleConnections = keepLooking;
    },
    figures: () => ({ listener: name, open: open.size, closedIdle: { ...closedIdle }, refused: { ...refused } }),
  };
}

/** Finds the connection that TLS is spoken on: the two sockets know one another by their peer alone. */
function createPairing(bySocket: WeakMap<Socket, Connection>, open: Iterable<Connection>) {
  return (secure: Socket): void => {
    const { remoteAddress, remotePort } = secure;
    for (const connection of open) {
      const { socket } = connection;
      if (socket.remotePort === remotePort && socket.remoteAddress === remoteAddress) {
        bySocket.set(secure, connection);
        return;
      }
    }
  };
}

/** Between two lines of the log on the same matter, in milliseconds. */
const QUIET = 60_000;

const MESSAGES: Readonly<Record<PassedBound, string>> = {
  full: 'all connections of a listener are taken: those idle longest are closed, new ones refused where none is (--max-connections)',
  share:
    'one address has its whole share of a listener: its connections idle longest are closed (--trust-proxy, --max-connections)',
};

function createTelling(listener: ListenerName, log: LogPort) {
  const told = new Set<PassedBound>();
  return (reason: PassedBound, address: string): void => {
    if (told.has(reason)) return;
    told.add(reason);
    setTimeout(() => told.delete(reason), QUIET).unref();
    log.warn({ listener, address }, MESSAGES[reason]);
  };
}
