import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LogPort } from '../core/ports.js';
import type { CreateServer } from '../northbound/api-server.js';
import { trustOf } from '../northbound/caller.js';
import { allowHalfClose } from '../northbound/half-close.js';
import { notePeers, peerOf, UNIX_PEER } from '../northbound/peers.js';

/** One address has at most this part of a listener's connections. */
const SHARE = 1 / 4;

export type ListenerName = 'api' | 'subscriptions' | 'feed' | 'ops';

/** Why a connection was closed: the listener is full, or the share of its address is. */
export type ClosedFor = 'full' | 'share';

/** What is read of one listener; counts are since the start. */
export interface ListenerFigures {
  readonly listener: ListenerName;
  readonly open: number;
  /** Idle ones that made room. */
  readonly closedIdle: Readonly<Record<ClosedFor, number>>;
  /** New ones that found none. */
  readonly refused: Readonly<Record<ClosedFor, number>>;
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

interface Connection {
  readonly socket: Socket;
  /** What its share is counted by; null where it has none. */
  readonly network: string | null;
  /** Requests whose answers are not out. */
  running: number;
  /** The listener's turn at which it became idle: the idle longest has the lowest. */
  idleSince: number;
  readonly answered: () => void;
  /** How it was found at the last look for idle ones. */
  found: { readonly idleSince: number; readonly bytesRead: number } | null;
}

/** Between two looks for idle connections of a server that closes, in milliseconds. */
const IDLE_CHECK = 50;

function createListener(name: ListenerName, { most, trustProxy, log }: ConnectionsOptions): Listener {
  const isTrusted = trustOf(trustProxy);
  const share = Math.max(1, Math.floor(most * SHARE));
  const open = new Set<Connection>();
  const perNetwork = new Map<string, number>();
  const bySocket = new WeakMap<Socket, Connection>();
  const closedIdle = { full: 0, share: 0 };
  const refused = { full: 0, share: 0 };
  const tell = createTelling(name, log);
  let turn = 0;

  function count(network: string | null, change: 1 | -1): void {
    if (network === null) return;
    const next = (perNetwork.get(network) ?? 0) + change;
    if (next === 0) perNetwork.delete(network);
    else perNetwork.set(network, next);
  }

  function forget(connection: Connection): void {
    if (open.delete(connection)) count(connection.network, -1);
  }

  function end(connection: Connection): void {
    forget(connection);
    connection.socket.destroy();
  }

  /** Of one network, or of all. */
  function idleLongest(network: string | null): Connection | null {
    let found: Connection | null = null;
    for (const one of open) {
      if (one.running > 0 || (network !== null && one.network !== network)) continue;
      if (found === null || one.idleSince < found.idleSince) found = one;
    }
    return found;
  }

  /** Whether there is room for one more, after closing an idle one if need be. */
  function makeRoom(reason: ClosedFor, network: string | null, address: string): boolean {
    const idle = idleLongest(network);
    if (idle === null) refused[reason] += 1;
    else {
      end(idle);
      closedIdle[reason] += 1;
    }
    tell(reason, address);
    return idle !== null;
  }

  function admit(socket: Socket): void {
    const { address, network } = peerOf(socket);
    const counted = address === UNIX_PEER || isTrusted(address) ? null : network;
    const isShareTaken = counted !== null && (perNetwork.get(counted) ?? 0) >= share;
    const isRefused =
      (isShareTaken && !makeRoom('share', counted, address)) || (open.size >= most && !makeRoom('full', null, address));
    if (isRefused) {
      socket.destroy();
      return;
    }
    turn += 1;
    const connection: Connection = {
      socket,
      network: counted,
      running: 0,
      idleSince: turn,
      found: null,
      answered() {
        connection.running -= 1;
        turn += 1;
        connection.idleSince = turn;
      },
    };
    open.add(connection);
    count(counted, 1);
    bySocket.set(socket, connection);
    socket.once('close', () => forget(connection));
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
      const { running, idleSince, found, socket } = connection;
      const { bytesRead } = socket;
      const isSame = found !== null && found.idleSince === idleSince && found.bytesRead === bytesRead;
      if (running === 0 && isSame) end(connection);
      else connection.found = running === 0 ? { idleSince, bytesRead } : null;
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
function createPairing(bySocket: WeakMap<Socket, Connection>, open: ReadonlySet<Connection>) {
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

const MESSAGES: Readonly<Record<ClosedFor, string>> = {
  full: 'all connections of a listener are taken: those idle longest are closed, new ones refused where none is (--max-connections)',
  share:
    'one address has its whole share of a listener: its connections idle longest are closed (--trust-proxy, --max-connections)',
};

function createTelling(listener: ListenerName, log: LogPort) {
  const told = new Set<ClosedFor>();
  return (reason: ClosedFor, address: string): void => {
    if (told.has(reason)) return;
    told.add(reason);
    setTimeout(() => told.delete(reason), QUIET).unref();
    log.warn({ listener, address }, MESSAGES[reason]);
  };
}
