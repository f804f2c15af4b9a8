import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** What of a request tells who calls. */
export interface CallingRequest {
  readonly headers: IncomingHttpHeaders;
  /** A Unix socket has no address. */
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** The caller's address, for the log and the login guard. */
export type CallerOf = (request: CallingRequest) => string;

/** How a peer on a Unix socket is named, as caller and among the trusted. */
export const UNIX_PEER = 'unix';

/**
 * Finds the address that calls. `X-Forwarded-For` is read from the right, over trusted addresses only: the caller is the
 * first that is not trusted, and what stands left of it, which the caller may have made up, counts for nothing. A value
 * that is no address (`unknown`, an empty one) ends the search at the proxy that wrote it. Ports are dropped, and IPv4 in
 * its IPv6 form (RFC 4291, 2.5.5.2) counts as IPv4.
 */
export function createCallerOf(trusted: readonly string[]): CallerOf {
  const isTrusted = trustOf(trusted);
  return ({ headers, socket }) => {
    let caller = socket.remoteAddress === undefined ? UNIX_PEER : (addressOf(socket.remoteAddress) ?? UNIX_PEER);
    if (trusted.length === 0) return caller;
    let rest = forwardedFor(headers);
    while (rest !== '' && isTrusted(caller)) {
      const comma = rest.lastIndexOf(',');
      const next = addressOf(rest.slice(comma + 1));
      if (next === null) break;
      caller = next;
      rest = rest.slice(0, Math.max(0, comma));
    }
    return caller;
  };
}

/** Several headers of the name are one list, in their order (RFC 9110, 5.2). */
function forwardedFor(headers: IncomingHttpHeaders): string {
  const value = headers['x-forwarded-for'] ?? '';
  return typeof value === 'string' ? value : value.join(',');
}

function trustOf(trusted: readonly string[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const range of trusted.filter((one) => one !== UNIX_PEER)) {
    const [address = '', bits] = range.split('/', 2);
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    ranges.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  const trustsUnix = trusted.includes(UNIX_PEER);
  return (address) => (address === UNIX_PEER ? trustsUnix : ranges.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'));
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The address in a value such as `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`; null for another. */
function addressOf(value: string): string | null {
  const text = value.trim();
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const bare = (bracketed ?? plain ?? text).replace(/%[\w.-]+$/, '');
  const address = MAPPED.exec(bare)?.[1] ?? bare;
  return isIP(address) === 0 ? null : address;
}
