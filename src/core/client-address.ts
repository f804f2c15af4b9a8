import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import type { KeptRecords } from './kept-records.js';

/** The address at which clients reach the tunnel server, as far as it is known. */
export interface ClientAddress {
  readonly host: string | null;
  readonly port: number | null;
}

const NOWHERE = new BlockList();
NOWHERE.addSubnet('0.0.0.0', 8);
NOWHERE.addSubnet('127.0.0.0', 8);
NOWHERE.addSubnet('224.0.0.0', 3);
NOWHERE.addAddress('::', 'ipv6');
NOWHERE.addAddress('::1', 'ipv6');
NOWHERE.addSubnet('ff00::', 8, 'ipv6');

/** Labels of RFC 1123, 2.1, in at most as many characters as RFC 1035, 2.3.4, leaves them. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.?$/i;
const LONGEST_NAME = 254;

/** Returns a host in the form in which links have it, an IPv6 address in brackets; null for any other text. */
export function readClientHost(text: string): string | null {
  const bare = text.trim().replace(/^\[(.*)\]$/, '$1');
  if (isIPv6(bare)) return bare.includes('%') ? null : `[${bare}]`;
  // What follows a host in an address would be cut off, and a blank within it taken out.
  const name = /[\s/\\?#]/.test(bare) ? '' : domainToASCII(bare);
  return name.length <= LONGEST_NAME && NAME.test(name) ? name : null;
}

/** Tells whether clients elsewhere can reach a host: it is neither a wildcard, nor loopback, nor a multicast address. */
export function isReachable(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const family = isIP(bare);
  if (family === 0) return bare !== '' && !/(?:^|\.)localhost\.?$/.test(bare);
  return !NOWHERE.check(bare, family === 4 ? 'ipv4' : 'ipv6');
}

const ID = 'address';

/** Reads the address that is kept as a record. */
export function keptAddress(records: Pick<KeptRecords, 'of'>): ClientAddress {
  const body = records.of('clients').get(ID);
  const { host, port }: Readonly<Record<string, unknown>> = body === undefined ? {} : Object(JSON.parse(body));
  return { host: typeof host === 'string' ? host : null, port: typeof port === 'number' ? port : null };
}

/** Keeps an address as a record, in place of one before. Rejects as a change of records does. */
export async function keepAddress(records: Pick<KeptRecords, 'change'>, address: ClientAddress): Promise<void> {
  const isEmpty = address.host === null && address.port === null;
  await records.change([{ kind: 'clients', id: ID, body: isEmpty ? null : JSON.stringify(address) }]);
}
