import type { IncomingMessage } from 'node:http';
import { callerNetwork, SHARE_NETWORK } from '../core/caller-network.js';
import type { ClockPort } from '../core/ports.js';
import type { CallerOf } from './caller.js';
import { isThisMachine } from './peers.js';

/** Bytes a second that one network is sent without a credential, and bytes that it may be sent at once. */
const PER_SECOND = 512 * 1024;
const BURST = 2 * 1024 * 1024;

/** Bytes of an answer beside its body, about. */
const HEAD = 512;

/** Bytes that an answer counts for until its length is known. */
const UNKNOWN = 64 * 1024;

/** Networks that are remembered; one forgotten begins anew. */
const MOST_NETWORKS = 10_000;

export type StrangerRate = ReturnType<typeof createStrangerRate>;

interface Allowance {
  bytes: number;
  at: number;
}

/** Bounds what anyone is sent for a few bytes: static files and the audit list, per network (IPv6: one /56). */
export function createStrangerRate(clock: ClockPort, callerOf: CallerOf) {
  const allowances = new Map<string, Allowance>();

  /** Null for a caller that has no bound. A proxy on this machine speaks for others. */
  function allowanceOf(request: IncomingMessage): Allowance | null {
    const { address } = callerOf(request);
    if (isThisMachine(address)) return null;
    const network = callerNetwork(address, SHARE_NETWORK);
    const now = clock.monotonic();
    const known = allowances.get(network);
    const bytes = known === undefined ? BURST : known.bytes + ((now - known.at) / 1000) * PER_SECOND;
    const allowance = { bytes: Math.min(BURST, bytes), at: now };
    allowances.delete(network);
    allowances.set(network, allowance);
    for (const oldest of allowances.keys()) {
      if (allowances.size <= MOST_NETWORKS) break;
      allowances.delete(oldest);
    }
    return allowance;
  }

  function take(request: IncomingMessage, bytes: number): void {
    const allowance = allowanceOf(request);
    if (allowance !== null) allowance.bytes -= bytes;
  }

  return {
    /** Seconds until this caller may ask again; null where it may now, as one of this machine always may. */
    retryAfter(request: IncomingMessage): number | null {
      const { bytes } = allowanceOf(request) ?? { bytes: BURST };
      return bytes > 0 ? null : Math.max(1, Math.ceil(-bytes / PER_SECOND));
    },
    /** Takes down that an answer with so many bytes of body goes out. */
    sends: (request: IncomingMessage, bytes: number): void => take(request, bytes + HEAD),
    /**
     * Takes down that an answer is on its way whose length is told later, once, to the function returned: until then it counts
     * for 64 KiB, since many requests of one packet are looked at before the first of their answers.
     */
    begins(request: IncomingMessage): (bytes: number) => void {
      take(request, UNKNOWN);
      return (bytes) => take(request, bytes + HEAD - UNKNOWN);
    },
  };
}
