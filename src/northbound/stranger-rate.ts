import type { IncomingMessage } from 'node:http';
import { callerNetwork, SHARE_NETWORK } from '../core/caller-network.js';
import type { ClockPort } from '../core/ports.js';
import { RecentMap } from '../core/recent-map.js';
import type { CallerOf } from './caller.js';
import { isThisMachine } from './peers.js';

/** Bytes a second that are sent to one network without a credential, and bytes that may be sent to it at once. */
const PER_SECOND = 512 * 1024;
const BURST = 2 * 1024 * 1024;

/** The approximate size of an answer's header, in bytes. */
const HEAD = 512;

/** Bytes that are reserved for an answer until its length is known. */
const UNKNOWN = 64 * 1024;

/** The most networks that are remembered; a forgotten one starts with a full allowance. */
const MOST_NETWORKS = 10_000;

export type StrangerRate = ReturnType<typeof createStrangerRate>;

interface Allowance {
  bytes: number;
  at: number;
}

/** Limits, per network (IPv6: one /56), the large answers that need no credential: static files and the audit list. */
export function createStrangerRate(clock: ClockPort, callerOf: CallerOf) {
  const allowances = new RecentMap<string, Allowance>(MOST_NETWORKS);

  /** Returns the caller's allowance; null on this machine, where a proxy may speak for many clients. */
  function allowanceOf(request: IncomingMessage): Allowance | null {
    const { address } = callerOf(request);
    if (isThisMachine(address)) return null;
    const network = callerNetwork(address, SHARE_NETWORK);
    const now = clock.monotonic();
    const known = allowances.get(network);
    const bytes = known === undefined ? BURST : known.bytes + ((now - known.at) / 1000) * PER_SECOND;
    const allowance = { bytes: Math.min(BURST, bytes), at: now };
    allowances.set(network, allowance);
    return allowance;
  }

  function take(request: IncomingMessage, bytes: number): void {
    const allowance = allowanceOf(request);
    if (allowance !== null) allowance.bytes -= bytes;
  }

  return {
    /** Returns the seconds until this caller may ask again; null if he may now, as always on this machine. */
    retryAfter(request: IncomingMessage): number | null {
      const { bytes } = allowanceOf(request) ?? { bytes: BURST };
      return bytes > 0 ? null : Math.max(1, Math.ceil(-bytes / PER_SECOND));
    },
    /** Counts an answer with a body of `bytes`. */
    sends: (request: IncomingMessage, bytes: number): void => take(request, bytes + HEAD),
    /**
     * Reserves 64 KiB for an answer of unknown length; the function returned replaces the reservation once, by the real
     * length. Without it all requests of one packet would pass before the first answer is counted.
     */
    begins(request: IncomingMessage): (bytes: number) => void {
      take(request, UNKNOWN);
      return (bytes) => take(request, bytes + HEAD - UNKNOWN);
    },
  };
}
