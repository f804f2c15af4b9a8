/** One network has at most this part of a listener's connections. */
const SHARE = 1 / 4;

/** The bound that one more connection would pass: the listener's own, or the share of its network. */
export type PassedBound = 'full' | 'share';

/** A connection as far as its listener's bounds look at it. */
export interface BoundedConnection {
  /** The network by which its share is counted; null for none. */
  readonly network: string | null;
  /** Tells whether somebody waits for an answer on it. */
  isBusy(): boolean;
}

/** The open connections of a listener, the one that was used longest ago first. */
export interface OpenConnections<C extends BoundedConnection> extends Iterable<C> {
  readonly size: number;
  /** Adds it, or notes that it is used now. */
  touch(connection: C): void;
  has(connection: C): boolean;
  remove(connection: C): void;
  /** Returns the bound that one more connection of this network would pass, its share first; null where there is room. */
  passedBy(network: string | null): PassedBound | null;
  /** The one used longest ago among the idle ones, of one network where one is given; null where none is idle. */
  idleLongest(network: string | null): C | null;
}

/** At most `most`, and a quarter of them for one network. */
export function createOpenConnections<C extends BoundedConnection>(most: number): OpenConnections<C> {
  const share = Math.max(1, Math.floor(most * SHARE));
  const open = new Set<C>();
  /** The same, in the same order, by network: to look through all of them at each new connection would hold up everyone. */
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
