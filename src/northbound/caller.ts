import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { type Caller, callerAt, canonicalAddress, peerOf, UNIX_PEER } from './peers.js';

export interface CallingRequest {
  readonly headers: IncomingHttpHeaders;
  /** Undefined for a Unix socket. */
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Returns the caller, for the log and the guards. */
export type CallerOf = (request: CallingRequest) => Caller;

/**
 * Finds the address of the caller. `X-Forwarded-For` is read from the right, over trusted addresses only: the caller is
 * the first that is not trusted, and anything left of it, which the caller may have made up, is ignored. A value that
 * is no address (`unknown`, an empty one) ends the search at the proxy that wrote it. Ports are dropped. `onUntrusted`
 * is called once for each untrusted peer that sends the header.
 */
export function createCallerOf(trusted: readonly string[], onUntrusted?: (address: string) => void): CallerOf {
  const isTrusted = trustOf(trusted);
  let tellUntrusted = onUntrusted;
  return ({ headers, socket }) => {
    const peer = peerOf(socket);
    if (tellUntrusted !== undefined && headers['x-forwarded-for'] !== undefined && !isTrusted(peer.address)) {
      tellUntrusted(peer.address);
      tellUntrusted = undefined;
    }
    if (trusted.length === 0) return peer;
    let caller = peer.address;
    let rest = forwardedFor(headers);
    while (rest !== '' && isTrusted(caller)) {
      const comma = rest.lastIndexOf(',');
      const next = canonicalAddress(rest.slice(comma + 1));
      if (next === null) break;
      caller = next;
      rest = rest.slice(0, Math.max(0, comma));
    }
    return caller === peer.address ? peer : callerAt(caller);
  };
}

/** Joins several headers of the name into one list, in their order (RFC 9110, 5.2). */
function forwardedFor(headers: IncomingHttpHeaders): string {
  const value = headers['x-forwarded-for'] ?? '';
  return typeof value === 'string' ? value : value.join(',');
}

/**
 * Returns a test of whether an address, in its canonical spelling, is among these addresses and networks; `unix`
 * matches itself.
 */
export function trustOf(trusted: readonly string[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const range of trusted.filter((one) => one !== UNIX_PEER)) {
    const [address = '', bits] = range.split('/', 2);
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    ranges.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  const trustsUnix = trusted.includes(UNIX_PEER);
  return (address) => {
    if (address === UNIX_PEER) return trustsUnix;
    const family = isIP(address);
    return family !== 0 && ranges.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}
