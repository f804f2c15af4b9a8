/** A share link, as servers write and clients read it from 0.4.0 on. */
export interface ShareLink {
  readonly accessKey: string;
  /** Without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
  /** UDP, or UDP packets over TCP. */
  readonly type: 'udp' | 'uot';
  readonly tls: boolean;
  readonly sni: string | null;
  readonly insecure: boolean;
  readonly path: string | null;
  readonly tun: boolean;
  readonly dns: string | null;
  readonly ownDns: boolean;
  readonly name: string | null;
}

/** A way to a server: a link without the parts of one key. */
export type LinkWay = Omit<ShareLink, 'accessKey' | 'name'>;

/** The ways to a server over UDP, and over TLS if it has that. */
export interface LinkWays {
  readonly udp: LinkWay;
  readonly tls: LinkWay | null;
}

const SCHEME = 'ostp://';

/**
 * Encodes every byte of UTF-8 except unreserved characters (RFC 3986, 2.3) as `%XX`; half of a surrogate pair becomes
 * U+FFFD.
 */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\u{fffd}')).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Writes a link, its query in the servers' order. */
export function writeShareLink(link: ShareLink): string {
  const { accessKey, port, type, tls, sni, insecure, path, tun, dns, ownDns, name } = link;
  const host = link.host.includes(':') ? `[${link.host}]` : link.host;
  const query = [
    `type=${type}`,
    ...(tls ? ['tls=1'] : []),
    ...text('sni', sni),
    ...(insecure ? ['insecure=1'] : []),
    ...text('path', path),
    ...(tun ? ['tun=true'] : []),
    ...text('dns', dns),
    ...(ownDns ? ['owndns=true'] : []),
    ...text('name', name),
  ];
  return `${SCHEME}${percentEncoded(accessKey)}@${host}:${port}?${query.join('&')}`;
}

function text(name: string, value: string | null): readonly string[] {
  return value === null ? [] : [`${name}=${percentEncoded(value)}`];
}
