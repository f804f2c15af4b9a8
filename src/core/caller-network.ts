import { isIP } from 'node:net';

/** The number of leading bytes of an address that tell one network from another. */
export interface NetworkBytes {
  readonly v4: number;
  readonly v6: number;
}

/** One caller: an IPv4 address, or a /64 of IPv6, of which one machine has every address (RFC 6177 section 2). */
const ONE_CALLER: NetworkBytes = { v4: 4, v6: 8 };
/**
 * The network that has a share of a listener's connections: one line to the Internet is given a /56 (RFC 6177 section
 * 2).
 */
export const SHARE_NETWORK: NetworkBytes = { v4: 4, v6: 7 };
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');

/**
 * Returns the network of an address, by default a single caller, as the same text for every spelling of the address.
 * IPv4 in its IPv6 form (RFC 4291 section 2.5.5.2) counts as IPv4, and a zone is ignored. Any other text, such as the
 * name of a peer on a Unix socket, is a network of its own.
 */
export function callerNetwork(address: string, { v4, v6 }: NetworkBytes = ONE_CALLER): string {
  const bare = withoutZone(address);
  if (isIP(bare) === 0) return address;
  const bytes = plainBytes(addressBytes(bare));
  const kept = bytes.length === 4 ? v4 : v6;
  const network = bytes.length === 4 ? [...bytes.subarray(0, kept)].join('.') : bytes.toString('hex', 0, kept);
  return `${network}/${kept * 8}`;
}

/** The bytes of an IPv4 or IPv6 address without a zone, 4 or 16 (RFC 1035 section 3.4.1, RFC 3596 section 2.2). */
export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The URL standard writes every IPv6 address in hexadecimal groups, with at most one gap.
  const [left = '', right = null] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const before = groups(left);
  const after = right === null ? [] : groups(right);
  const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  const bytes = Buffer.alloc(16);
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(group, index * 2);
  return bytes;
}

/** An IPv6 address without its zone (RFC 4007 section 11). */
export function withoutZone(address: string): string {
  const [bare = address] = address.split('%');
  return bare;
}

function plainBytes(bytes: Buffer): Buffer {
  return bytes.length === 16 && bytes.subarray(0, MAPPED.length).equals(MAPPED) ? bytes.subarray(MAPPED.length) : bytes;
}
