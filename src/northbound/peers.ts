import type { Server } from 'node:http';
import { isIP, isIPv4, type Socket } from 'node:net';
import { callerNetwork } from '../core/caller-network.js';

export interface Caller {
  /** In its canonical spelling, for the log; `unix` for a peer on a Unix socket. */
  readonly address: string;
  /** The network that counts as one caller (`callerNetwork`). */
  readonly network: string;
}

/** The name of a peer on a Unix socket, as a caller and in the list of trusted addresses. */
export const UNIX_PEER = 'unix';

/** The name of a peer that reset its connection before its address was read. */
const UNKNOWN_PEER = 'unknown';

const peers = new WeakMap<object, Caller>();

/** Records each peer's address at once, because the system forgets it when a connection is reset. */
export function notePeers(server: Server): void {
  const note = (socket: Socket) => {
    const nameless = typeof server.address() === 'string' ? UNIX_PEER : UNKNOWN_PEER;
    peers.set(socket, callerAt(canonicalAddress(socket.remoteAddress ?? '') ?? nameless));
  };
  server.on('connection', note);
  server.on('secureConnection', note);
}

/** Tells whether a peer is on this machine: loopback (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3) or a Unix socket. */
export function isThisMachine(address: string): boolean {
  return address === UNIX_PEER || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

/** Returns the caller at the other end of a connection. */
export function peerOf(socket: { readonly remoteAddress?: string | undefined }): Caller {
  return peers.get(socket) ?? callerAt(canonicalAddress(socket.remoteAddress ?? '') ?? UNIX_PEER);
}

/** Returns the caller with this address, which is in its canonical spelling. */
export function callerAt(address: string): Caller {
  return { address, network: callerNetwork(address) };
}

/**
 * Returns the address in a value such as `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`, in its
 * canonical spelling (RFC 5952); IPv4 in its IPv6 form (RFC 4291, 2.5.5.2) becomes IPv4. Null for another value.
 */
export function canonicalAddress(value: string): string | null {
  const text = value.trim();
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const bare = (bracketed ?? plain ?? text).replace(/%[\w.-]+$/, '');
  const family = isIP(bare);
  if (family === 6) return mappedOf(canonicalIPv6(bare)) ?? canonicalIPv6(bare);
  return family === 4 ? bare : null;
}

/** Spells an IPv6 address in its canonical form, without any group spelled as IPv4. */
function canonicalIPv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function mappedOf(address: string): string | null {
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return null;
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.');
}
