import { BlockList, isIP, isIPv6 } from 'node:net';
import { StartError } from '../platform/start-error.js';

const SOCKET = 'unix:';

/** An address to listen on: a TCP port (0 lets the system choose), or a Unix socket. */
export type ListenAddress =
  | { readonly kind: 'port'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };

/** Splits `host:port`; an IPv6 host must have brackets, which are removed. Throws a `StartError`. */
export function parseHostPort(bind: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^\]]+)\]|(.*)):(\d+)$/.exec(bind) ?? [];
  if (port === '' || Number(port) > 65535)
    throw new StartError([`bind: expected host:port with a port up to 65535, found ${JSON.stringify(bind)}`]);
  return { host: bracketed ?? plain, port: Number(port) };
}

/** Reads `host:port`, or `unix:` and a path. Throws a `StartError`. */
export function listenAddress(bind: string): ListenAddress {
  if (bind.startsWith(SOCKET)) return { kind: 'socket', path: bind.slice(SOCKET.length) };
  return { kind: 'port', ...parseHostPort(bind) };
}

/** An address with the name that a message uses for it: a flag, or the file's member. */
export interface NamedAddress {
  readonly name: string;
  readonly bind: string;
}

/** Returns one sentence for each two addresses that cannot both be listened on, naming both. */
export function addressClashes(addresses: readonly NamedAddress[]): readonly string[] {
  return addresses.flatMap((one, index) =>
    addresses
      .slice(index + 1)
      .filter((other) => clash(listenAddress(one.bind), listenAddress(other.bind)))
      .map(
        (other) =>
          `${one.name} (${one.bind}) and ${other.name} (${other.bind}) are the same address: give one of them another`,
      ),
  );
}

function clash(one: ListenAddress, other: ListenAddress): boolean {
  if (one.kind === 'socket' || other.kind === 'socket')
    return one.kind === 'socket' && other.kind === 'socket' && one.path === other.path;
  if (one.port === 0 || one.port !== other.port) return false;
  const [first, second] = [reach(one.host), reach(other.host)];
  return first === second || covers(first, second) || covers(second, first);
}

/** Returns a host in a form for comparison. */
function reach(host: string): string {
  if (!isIPv6(host)) return host.toLowerCase();
  // The URL standard has no zones, as in `fe80::1%eth0` (RFC 4007, 11).
  const [address, zone = ''] = host.split('%');
  return new URL(`http://[${address}]`).hostname.slice(1, -1) + zone;
}

/** Tells whether an address includes a host. `::` includes IPv4, as it does unless the system forbids it. */
function covers(all: string, host: string): boolean {
  return all === '::' || (all === '0.0.0.0' && !isIPv6(host));
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Tells whether only this machine reaches the address; brackets around IPv6 are tolerated. */
export function isLoopback(address: string): boolean {
  const host = address.replace(/^\[|\]$/g, '');
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
