import { BlockList, isIP } from 'node:net';
import type { OutboundAction, OutboundRule, OutboundSettings } from '../core/model.js';

/** Why no connection may or can be made; one clause for the log. */
export class RouteError extends Error {}

/** Returns the addresses of a host; a rejection counts as no address. */
export type AddressesOf = (host: string) => Promise<readonly string[]>;

/**
 * Chooses the route of a TCP connection to a host by the outbound settings. The first rule that matches wins, else the
 * default action; everything goes direct without settings or if they are not enabled. A rule matches if the host is one
 * of its suffixes or below it, or if one of its addresses is in one of the rule's networks; a rule with neither matches
 * if it names the protocol. A name is looked up only when a rule with networks is reached.
 */
export async function decideRoute(
  outbound: OutboundSettings | null,
  host: string,
  addressesOf: AddressesOf,
): Promise<OutboundAction> {
  if (outbound === null || !outbound.enabled) return 'direct';
  let addresses: readonly string[] | null = isIP(host) === 0 ? null : [host];
  for (const rule of outbound.rules) {
    if (!speaksTcp(rule)) continue;
    if (rule.domainSuffix.length === 0 && rule.ipCidr.length === 0 && rule.protocol !== null) return rule.action;
    if (rule.domainSuffix.some((suffix) => isAtOrBelow(host, suffix))) return rule.action;
    if (rule.ipCidr.length === 0) continue;
    addresses ??= await addressesOrNone(host, addressesOf);
    const networks = networksOf(rule.ipCidr);
    if (addresses.some((address) => networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'))) return rule.action;
  }
  return outbound.defaultAction;
}

/** Tells whether a rule applies to TCP, which DNS over HTTPS and lists use. */
function speaksTcp({ protocol }: OutboundRule): boolean {
  return protocol === null || protocol === '' || protocol.toLowerCase() === 'tcp';
}

function isAtOrBelow(host: string, suffix: string): boolean {
  if (isIP(host) !== 0) return host === suffix;
  const bare = suffix
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return bare !== '' && (host === bare || host.endsWith(`.${bare}`));
}

async function addressesOrNone(host: string, addressesOf: AddressesOf): Promise<readonly string[]> {
  try {
    return await addressesOf(host);
  } catch {
    return [];
  }
}

/** Returns the valid networks; other texts are skipped, because rules may contain anything the operator wrote. */
function networksOf(ranges: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = null] = range.split('/');
    const family = isIP(address);
    if (family === 0) continue;
    const most = family === 4 ? 32 : 128;
    if (bits !== null && (!/^\d{1,3}$/.test(bits) || Number(bits) > most)) continue;
    networks.addSubnet(address, bits === null ? most : Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}
