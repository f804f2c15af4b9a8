import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { DomainError } from '../core/errors.js';
import { withoutEnd } from './text-ends.js';

/** Returns a URL's host as an address or a name, without the brackets of IPv6 and a trailing dot. */
export function hostOf(url: URL): string {
  const bare = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return bare.endsWith('.') ? bare.slice(0, -1) : bare;
}

/** Returns the http or https URL in a text, else null. */
export function httpUrl(text: string): URL | null {
  if (!/^https?:\/\//i.test(text) || !isUrl(text)) return null;
  return new URL(text);
}

/** More than any name has, with its port, as a name in other letters than ASCII and with what a URL has before it. */
const MOST_MAPPED = 1024;

/**
 * Tells whether a text is a URL. A long host in other letters than ASCII is none, because the time for mapping it grows
 * with the square of its length. `URL.canParse` of Node.js 20 refuses a host such as `bücher.example` once it is compiled.
 */
export function isUrl(text: string, base?: string): boolean {
  const [start = ''] = /^[^:]*:[/\\]*[^/\\?#]*/.exec(text.slice(0, MOST_MAPPED + 1)) ?? [];
  if (start.length > MOST_MAPPED && !isAscii(text)) return false;
  try {
    return new URL(text, base) !== null;
  } catch {
    return false;
  }
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what ASCII is
  return !/[^\x00-\x7f]/.test(text);
}

/**
 * RFC 2181 section 11, narrowed to what resolvers are asked for in practice: letters, digits, `-` and `_` in labels of
 * up to 63.
 */
const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;
/** More could be no name, and would take long to convert to ASCII. */
const MOST_CHARACTERS = 253;

/**
 * Returns a domain name in the form for comparison: ASCII (RFC 5891), lower case, no trailing dot, perhaps with a
 * leading `*.`. Null if the text is not such a name.
 */
export function domainName(text: string): string | null {
  const below = text.startsWith('*.');
  const bare = (below ? text.slice(2) : text).replace(/\.$/, '').toLowerCase();
  if (bare.length > MOST_CHARACTERS) return null;
  // The URL standard's mapping would read a number as an address and refuse an underscore in some places.
  const ascii = isAscii(bare) ? bare : domainToASCII(bare);
  if (!NAME.test(ascii) || isIP(ascii) !== 0) return null;
  return below ? `*.${ascii}` : ascii;
}

/** Returns whether a text is an IPv4 or IPv6 address, without a zone. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

/** Removes the zone of a link-local address (RFC 6874) from a URL, because the URL standard has no zones. */
export function urlWithoutZone(text: string): string {
  return text.replace(/%25[\w.~-]+(?=\])/, '');
}

function isWebUrl(text: string): boolean {
  return httpUrl(urlWithoutZone(text)) !== null;
}

/** The services that servers from 0.4.6 on can block as a whole, by id and name. */
export const SERVICES: readonly (readonly [id: string, name: string])[] = [
  ['tiktok', 'TikTok'],
  ['facebook', 'Facebook'],
  ['instagram', 'Instagram'],
  ['youtube', 'YouTube'],
  ['twitter', 'X (Twitter)'],
  ['vk', 'VK'],
  ['telegram', 'Telegram'],
  ['whatsapp', 'WhatsApp'],
  ['discord', 'Discord'],
  ['reddit', 'Reddit'],
  ['twitch', 'Twitch'],
  ['netflix', 'Netflix'],
  ['steam', 'Steam'],
  ['roblox', 'Roblox'],
];

/** A resolver to ask: over HTTPS by its URL, else at a host and port. */
export type UpstreamPlace =
  | { readonly carrier: 'https'; readonly url: string }
  | { readonly carrier: 'tls' | 'tcp' | 'udp'; readonly host: string; readonly port: number };

const MOST_PORT = 65_535;
/** Matches only from the first bracket of a run: from each of them the time would grow with the square of their number. */
const OUTER_BRACKETS = /^[[\]]+|(?<![[\]])[[\]]+$/g;
const PORTS = { tls: 853, tcp: 53, udp: 53 } as const;

/**
 * Returns the resolver that a text names to servers from 0.4.6 on: `https://host/path`, `tls://host`, `tcp://address`,
 * `udp://address` or an address, the last four with an optional port; null for another text. Only TLS allows a name in
 * place of an address.
 */
export function upstreamPlace(text: string): UpstreamPlace | null {
  const given = text.trim();
  if (given.startsWith('https://')) return isUrl(given) ? { carrier: 'https', url: given } : null;
  const [, scheme = 'udp', rest = ''] = /^(?:(tls|tcp|udp):\/\/)?(.*)$/s.exec(given) ?? [];
  const carrier = scheme === 'tls' || scheme === 'tcp' ? scheme : 'udp';
  const bare = carrier === 'tls' ? withoutEnd(rest, '/') : rest;
  const [, bracketed, plain = '', digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(bare) ?? [];
  const host = isIP(bare) === 6 ? bare : (bracketed ?? plain);
  const port = digits === undefined || host === bare ? PORTS[carrier] : Number(digits);
  const isNamed = carrier === 'tls' && bracketed === undefined && domainName(host) !== null && !host.startsWith('*');
  return (isIP(host) !== 0 || isNamed) && port <= MOST_PORT ? { carrier, host, port } : null;
}

/** Returns the name of a resolver in figures and in the query log, as servers from 0.4.6 on write it. */
export function upstreamLabel(text: string): string {
  const place = upstreamPlace(text);
  if (place === null || place.carrier === 'https') return text.trim();
  const { carrier, host, port } = place;
  return `${carrier}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Returns why servers from 0.4.6 on refuse a text as a resolver, in their words; null if they accept it. They accept
 * some that cannot be asked.
 */
export function upstreamFault(text: string): string | null {
  const given = text.trim();
  if (given.startsWith('https://')) return null;
  if (given.startsWith('tls://')) {
    const [, host = '', port] = /^(.*?)(?::(\d*))?$/s.exec(withoutEnd(given.slice(6), '/')) ?? [];
    return (port === undefined ? null : portFault(port)) ?? (host === '' ? `"${given}": no host` : null);
  }
  const isTcp = given.startsWith('tcp://');
  const rest = isTcp || given.startsWith('udp://') ? given.slice(6) : given;
  if (isIP(rest.replace(OUTER_BRACKETS, '')) !== 0 || isAddressWithPort(rest)) return null;
  const why = `"${rest}" is not an IP address (with an optional port)`;
  if (isTcp) return why;
  return `upstream "${given}": use https://host/dns-query, tls://host, tcp://ip, udp://ip or a bare IP: ${why}`;
}

function portFault(digits: string): string | null {
  if (digits === '') return 'cannot parse integer from empty string';
  return Number(digits) > MOST_PORT ? 'number too large to fit in target type' : null;
}

function isAddressWithPort(text: string): boolean {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text) ?? [];
  const isHost = bracketed === undefined ? isIP(plain) === 4 : isIP(bracketed) === 6;
  return isHost && Number(port) <= MOST_PORT;
}

/** Throws `invalidBody`, which names the member, unless the text can be an upstream. */
export function checkUpstream(text: string): void {
  if (!isWebUrl(text) && upstreamPlace(text) === null) refuse('doh_upstream', 'an http or https URL');
}

/** Tells whether a list may have this URL. */
export function isListUrl(text: string): boolean {
  return isWebUrl(text) || (/^file:/i.test(text) && isUrl(text));
}

/**
 * Throws `invalidBody`, which names the element, unless all are URLs of lists. Which of them are read is not decided
 * here: a list that must not be read is skipped, wherever its URL came from.
 */
export function checkListUrls(urls: readonly string[]): void {
  for (const [index, text] of urls.entries()) {
    if (!isListUrl(text)) refuse(`adblock_urls[${index}]`, 'an http, https or file URL');
  }
}

/**
 * Throws `invalidBody`, which names the entry, unless all are names (or `*.` and a name, for those below it) with
 * addresses.
 */
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
