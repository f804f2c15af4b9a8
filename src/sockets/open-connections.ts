/** The largest part of a listener's connections that one network may have. */
const SHARE = 1 / 4;

/** The limit that one more connection would exceed: the listener's, or its network's share. */
export type PassedBound = 'full' | 'share';

/** A connection as its listener's limits see it. */
export interface BoundedConnection {
  /** The network by which its share is counted; null for none. */
  readonly network: string | null;
  /** Tells whether a client waits for an answer on it. */
  isBusy(): boolean;
}

/** The open connections of a listener, the least recently used first. */
export interface OpenConnections<C extends BoundedConnection> extends Iterable<C> {
  readonly size: number;
  /** Adds it, or notes that it is used now. */
  touch(connection: C): void;
  has(connection: C): boolean;
  remove(connection: C): void;
  /** Returns the limit that one more connection of a network would exceed, its share first; null for none. */
  passedBy(network: string | null): PassedBound | null;
  /** Returns the least recently used idle connection, of one network if given; null if all are busy. */
  idleLongest(network: string | null): C | null;
}

/** Makes a list of at most `most` connections, a quarter of them from one network. */
export function createOpenConnections<C extends BoundedConnection>(most: number): OpenConnections<C> {
  const share = Math.max(1, Math.floor(most * SHARE));
  const open = new Set<C>();
  /**
   * The same connections by network, in the same order, because scanning all of them for each new one would hold up
   * everyone.
   */
  const perNetwork = new Map<string, Set<C>>();

  function remove(connection: C): void {
    open.delete(connection);
    const { network } = connection;
    const own = network === null ? undefined : perNetwork.get(network);
    if (network === null || own === undefined) return;
    own.delete(connection);
    if (own.size === 0) perNetwork.delete(network);
  }

  return {
    get size() {
      return open.size;
    },
    [Symbol.iterator]: () => open.values(),
    touch(connection) {
      remove(connection);
      open.add(connection);
      const { network } = connection;
      if (network === null) return;
      const own = perNetwork.get(network);
      if (own === undefined) perNetwork.set(network, new Set([connection]));
      else own.add(connection);
    },
    has: (connection) => open.has(connection),
    remove,
    passedBy(network) {
      if (network !== null && (perNetwork.get(network)?.size ?? 0) >= share) return 'share';
      return open.size >= most ? 'full' : null;
    },
    idleLongest(network) {
      const among = network === null ? open : (perNetwork.get(network) ?? []);
      for (const one of among) if (!one.isBusy()) return one;
      return null;
    },
  };
}
