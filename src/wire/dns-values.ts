import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { DomainError } from '../core/errors.js';

const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet('169.254.0.0', 16, 'ipv4');
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6');

/**
 * Whether an IP address is a link-local one (RFC 3927, RFC 4291 section 2.5.6), an IPv4 address inside of an IPv6 one
 * included. Cloud machines serve their own credentials on such addresses.
 */
export function isLinkLocal(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LINK_LOCAL.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** A URL's host as an address or a name: without the brackets of IPv6 and a dot at its end. */
export function hostOf(url: URL): string {
  const bare = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return bare.endsWith('.') ? bare.slice(0, -1) : bare;
}

/** The http or https URL in a text, else null. */
export function httpUrl(text: string): URL | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  return new URL(text);
}

/** RFC 2181 section 11 by what resolvers are asked for in practice: letters, digits, `-` and `_` in labels of up to 63. */
const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/**
 * A domain name in the form in which names are compared: ASCII (RFC 5891), lower case, no dot at its end; `*.` may stand
 * before it. Null when the text is no such name.
 */
export function domainName(text: string): string | null {
  const below = text.startsWith('*.');
  const bare = (below ? text.slice(2) : text).replace(/\.$/, '').toLowerCase();
  // The URL standard's mapping would read a number as an address and refuse an underscore in some places.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what ASCII is
  const ascii = /^[\x00-\x7f]*$/.test(bare) ? bare : domainToASCII(bare);
  if (!NAME.test(ascii) || isIP(ascii) !== 0) return null;
  return below ? `*.${ascii}` : ascii;
}

/** Whether a text is an IPv4 or IPv6 address, without a zone. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

/** Throws `invalidBody`, which names the member, unless the text can be an upstream for DNS over HTTPS. */
export function checkUpstream(text: string): void {
  if (httpUrl(text) === null) refuse('doh_upstream', 'an http or https URL');
}

/**
 * Throws `invalidBody`, which names the element, unless all are lists that a body may bring: a file of this machine or a
 * link-local address comes from the configuration file alone.
 */
export function checkListUrls(urls: readonly string[]): void {
  for (const [index, text] of urls.entries()) {
    const url = httpUrl(text);
    if (url === null) refuse(`adblock_urls[${index}]`, 'an http or https URL');
    else if (isLinkLocal(hostOf(url))) refuse(`adblock_urls[${index}]`, 'a URL whose host is no link-local address');
  }
}

/** Throws `invalidBody`, which names the entry, unless all are names (`*.` for those below) with addresses. */
export function checkCustomDomains(domains: Readonly<Record<string, string>>): void {
  for (const [name, address] of Object.entries(domains)) {
    const entry = `custom_domains[${JSON.stringify(name)}]`;
    if (domainName(name) === null) refuse(entry, 'a domain name, perhaps with *. before it');
    if (!isAddress(address)) refuse(entry, 'an IPv4 or IPv6 address');
  }
}

function refuse(place: string, expected: string): never {
  throw new DomainError('invalidBody', `${place}: expected ${expected}`);
}
