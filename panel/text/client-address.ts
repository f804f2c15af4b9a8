import { isDomainSuffix, isIpv4, isIpv6 } from './networks.js';

/** An address as it was typed. */
export interface ClientAddress {
  /** An IPv6 address in brackets. */
  readonly host: string;
  /** With its colon; empty where none is named. */
  readonly port: string;
}

const ADDRESS = /^(\[[^\]]*\]|[^:/?#]*)(:\d*)?/;

/** Returns the host that the link of a key names, as it is spelled there; null where the link is of another form. */
export function hostIn(link: string, key: string): string | null {
  for (const spelled of [key, encodeURIComponent(key)]) {
    const sign = `//${spelled}@`;
    const place = link.indexOf(sign);
    if (place >= 0) return ADDRESS.exec(link.slice(place + sign.length))?.[1] ?? '';
  }
  return null;
}

/** Returns true for an address that clients elsewhere may reach: no wildcard, no loopback, and a name with a dot in it. */
export function isReachable(host: string): boolean {
  if (isIpv4(host)) return !/^(?:0|127|2[2-5]\d)\./.test(host);
  const inner = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  if (isIpv6(inner)) {
    // The one spelling that the URL Standard gives an address (3.5).
    const address = new URL(`http://[${inner}]`).hostname;
    return address !== '[::]' && address !== '[::1]' && !/^\[::ffff:7f|^\[ff/.test(address);
  }
  const name = host.replace(/\.$/, '').toLowerCase();
  const isName = isDomainSuffix(name) && name.includes('.') && !name.startsWith('.') && !/\.\d+$/.test(name);
  return isName && !/(?:^|\.)localhost$/.test(name);
}

/** Reads an address as somebody types it, perhaps with a port: host (IPv6 in brackets) and port with its colon; null for none. */
export function readClientAddress(typed: string): ClientAddress | null {
  const text = typed.trim();
  if (isIpv6(text)) return isReachable(text) ? { host: `[${text}]`, port: '' } : null;
  const [all = '', host = '', port = ''] = ADDRESS.exec(text) ?? [];
  if (all !== text || !isReachable(host)) return null;
  const number = Number(port.slice(1));
  return port === '' || (number >= 1 && number <= 65_535) ? { host, port } : null;
}
