import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { callerNetwork, SHARE_NETWORK } from '../core/caller-network.js';
import type { LogPort } from '../core/ports.js';
import { trustOf } from '../northbound/caller.js';
import { notePeers, peerOf, UNIX_PEER } from '../northbound/peers.js';
import type { Settings } from '../settings/table.js';
import { BODY_PACE, type BodyPace } from '../sockets/awaited-bodies.js';
import {
  type ConnectionWatcher,
  type CreateServer,
  type FollowedConnection,
  isBusy,
  withFollowed,
} from '../sockets/followed-connections.js';
import { allowHalfClose } from '../sockets/http-server.js';
import { type BoundedConnection, createOpenConnections, type PassedBound } from '../sockets/open-connections.js';

export type ListenerName = 'api' | 'subscriptions' | 'feed' | 'ops';

/** Figures of one listener; counts are since the start. */
export interface ListenerFigures {
  readonly listener: ListenerName;
  readonly open: number;
  /** Idle connections that were closed to make room. */
  readonly closedIdle: Readonly<Record<PassedBound, number>>;
  /** New connections that were refused because there was no idle one to close. */
  readonly refused: Readonly<Record<PassedBound, number>>;
}

/** Options of `createConnections`. Trusted proxies have no share, because many clients come through them. */
export interface ConnectionsOptions extends Pick<Settings, 'maxConnections' | 'trustProxy'> {
  readonly log: LogPort;
  /** The pace of bodies without an accepted credential; default `BODY_PACE`. */
  readonly bodyPace?: BodyPace;
}

export type Connections = ReturnType<typeof createConnections>;

/**
 * Limits the connections of every listener. A full listener closes the longest idle connection, on which nothing is
 * under way except perhaps a body still to come without an accepted credential, and refuses the new one if there is
 * none to close. One network (IPv6: one /56) has at most a quarter, and the same holds within that. Peers on Unix
 * sockets have no address and no share.
 */
export function createConnections(options: ConnectionsOptions) {
  const listeners = new Map<ListenerName, Listener>();
  return {
    /**
     * Returns the function that makes a listener's servers, by default plain ones. A server that closes ends its unused
     * connections (src/sockets/followed-connections.ts).
     */
    serverFor(name: ListenerName, make: CreateServer = createServer): CreateServer {
      const listener = listeners.get(name) ?? createListener(name, options);
      listeners.set(name, listener);
      return listener.following((serverOptions, handler) => {
        const server = make(serverOptions, handler);
        allowHalfClose(server);
        // Must precede the checks of a connection.
        notePeers(server);
        return server;
      });
    },
    figures: (): readonly ListenerFigures[] => [...listeners.values()].map(({ figures }) => figures()),
  };
}

type Listener = ReturnType<typeof createListener>;

interface Connection extends BoundedConnection {
  readonly socket: Socket;
}

function createListener(
  name: ListenerName,
  { maxConnections, trustProxy, log, bodyPace = BODY_PACE }: ConnectionsOptions,
) {
  const isTrusted = trustOf(trustProxy);
  const open = createOpenConnections<Connection>(maxConnections);
  const bounded = new WeakMap<FollowedConnection, Connection>();
  const closedIdle = { full: 0, share: 0 };
  const refused = { full: 0, share: 0 };
  const tell = createTelling(name, log);

  function end(connection: Connection): void {
    open.remove(connection);
    connection.socket.destroy();
  }

  /** Makes room for one more connection by closing idle ones; returns false if there is no idle one. */
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

  const watcher: ConnectionWatcher = {
    admits(followed) {
      const { socket } = followed;
      const { address } = peerOf(socket);
      const counted = address === UNIX_PEER || isTrusted(address) ? null : callerNetwork(address, SHARE_NETWORK);
      if (!makeRoom(counted, address)) return false;
      const connection: Connection = { socket, network: counted, isBusy: () => isBusy(followed) };
      open.touch(connection);
      bounded.set(followed, connection);
      return true;
    },
    answered(followed) {
      const connection = bounded.get(followed);
      // A connection that is already closed must not be added again.
      if (connection !== undefined && open.has(connection)) open.touch(connection);
    },
    closed(followed) {
      const connection = bounded.get(followed);
      if (connection !== undefined) open.remove(connection);
    },
  };

  return {
    following: (make: CreateServer): CreateServer => withFollowed(make, watcher, bodyPace),
    figures: (): ListenerFigures => ({
      listener: name,
      open: open.size,
      closedIdle: { ...closedIdle },
      refused: { ...refused },
    }),
  };
}

/** Milliseconds between two lines of the log about the same limit. */
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
