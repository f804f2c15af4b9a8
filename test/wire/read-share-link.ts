import type { ShareLink } from '../../src/wire/traits/write-share-link.js';

/** A text that is no share link; the message is the clients' own. */
class ShareLinkError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ShareLinkError';
  }
}

const SCHEME = 'ostp://';
const MOST_PORT = 65_535;

/** Reads a link as clients do: generously, and past members that it does not know. Throws `ShareLinkError`. */
export function readShareLink(given: string): ShareLink {
  const trimmed = given.trim();
  if (trimmed.slice(0, SCHEME.length).toLowerCase() !== SCHEME) throw new ShareLinkError('not an ostp:// link');
  const [whole = ''] = trimmed.slice(SCHEME.length).split('#', 1);
  const [before, query] = cut(whole, whole.indexOf('?'));
  const authority = before.replace(/\/+$/, '');
  const at = authority.lastIndexOf('@');
  if (at === -1) throw new ShareLinkError('link has no access key (expected KEY@HOST:PORT)');
  const accessKey = decoded(authority.slice(0, at));
  if (accessKey === '') throw new ShareLinkError('link has an empty access key');
  const members = membersOf(query);
  const isOn = (name: string) => ['1', 'true', 'yes'].includes((members.get(name) ?? '').toLowerCase());
  const textOf = (name: string) => members.get(name) || null;
  const [tls, path] = [isOn('tls'), textOf('path')];
  const isOverTcp = OVER_TCP.has((members.get('type') ?? '').toLowerCase()) || tls || path !== null;
  return {
    accessKey,
    ...addressIn(authority.slice(at + 1)),
    type: isOverTcp ? 'uot' : 'udp',
    tls,
    sni: textOf('sni'),
    insecure: isOn('insecure'),
    path,
    tun: isOn('tun'),
    dns: textOf('dns'),
    ownDns: isOn('owndns'),
    name: textOf('name'),
  };
}

const OVER_TCP: ReadonlySet<string> = new Set(['uot', 'tcp', 'http']);

function membersOf(query: string): ReadonlyMap<string, string> {
  return new Map(
    query.split('&').map((member) => {
      const [name, value] = cut(member, member.indexOf('='));
      return [name, decoded(value)];
    }),
  );
}

function addressIn(address: string): Pick<ShareLink, 'host' | 'port'> {
  const isBracketed = address.startsWith('[');
  const end = address.indexOf(']');
  if (isBracketed && end === -1) throw new ShareLinkError('unterminated IPv6 address');
  const colon = isBracketed ? end + 1 : address.lastIndexOf(':');
  if (address[colon] !== ':') throw new ShareLinkError('link has no port');
  const host = isBracketed ? address.slice(1, end) : address.slice(0, colon);
  if (host === '') throw new ShareLinkError('link has no host');
  const port = address.slice(colon + 1);
  if (!/^\d+$/.test(port) || Number(port) > MOST_PORT) throw new ShareLinkError(`invalid port '${port}'`);
  return { host, port: Number(port) };
}

/** The text before and after one character; all of it and nothing where that is not there. */
function cut(whole: string, at: number): readonly [string, string] {
  return at === -1 ? [whole, ''] : [whole.slice(0, at), whole.slice(at + 1)];
}

/** `+` is a blank, and `%` without two digits behind it stands for itself. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' ').replaceAll(/%(?![\da-f]{2})/gi, '%25'));
  } catch {
    throw new ShareLinkError('link contains invalid UTF-8');
  }
}
