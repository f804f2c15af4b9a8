/** One network has at most this part of a listener's connections. */
const SHARE = 1 / 4;

/** Which bound one more connection would pass: the listener's own, or the share of its network. */
export type PassedBound = 'full' | 'share';

/** A connection as far as its listener's bounds look at it. */
export interface BoundedConnection {
  /** What its share is counted by; null where it has none. */
  readonly network: string | null;
  /** Whether somebody waits for an answer on it. */
  isBusy(): boolean;
}

/** The open connections of a listener, the one that was used longest ago first. */
export interface OpenConnections<C extends BoundedConnection> extends Iterable<C> {
  readonly size: number;
  /** Adds it, or notes that it is used now. */
  touch(connection: C): void;
  has(connection: C): boolean;
  remove(connection: C): void;
  /** What one more connection of this network would pass, its share first; null where there is room. */
  passedBy(network: string | null): PassedBound | null;
  /** The one used longest ago among the idle ones, of one network where one is given; null where none is idle. */
  idleLongest(network: string | null): C | null;
}

/** At most `most`, and a quarter of them for one network. */
export function createOpenConnections<C extends BoundedConnection>(most: number): OpenConnections<C> {
  const share = Math.max(1, Math.floor(most * SHARE));
  const open = new Set<C>();
  const perNetwork = new Map<string, number>();

  function count(network: string | null, change: 1 | -1): void {
    if (network === null) return;
    const next = (perNetwork.get(network) ?? 0) + change;
    if (next === 0) perNetwork.delete(network);
    else perNetwork.set(network, next);
  }

  return {
    get size() {
      return open.size;
    },
    [Symbol.iterator]: () => open.values(),
    touch(connection) {
      if (!open.delete(connection)) count(connection.network, 1);
      open.add(connection);
    },
    has: (connection) => open.has(connection),
    remove(connection) {
      if (open.delete(connection)) count(connection.network, -1);
    },
    passedBy(network) {
      if (network !== null && (perNetwork.get(network) ?? 0) >= share) return 'share';
      return open.size >= most ? 'full' : null;
    },
    idleLongest(network) {
      for (const one of open) if (!one.isBusy() && (network === null || one.network === network)) return one;
      return null;
    },
  };
}
