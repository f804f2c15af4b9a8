/** The two parts of `host:port`, without the brackets of IPv6. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`; null unless joining the parts again gives the same text. */
export function addressOf(text: string): Address | null {
  const [, host, portText] = /^(.*):(0|[1-9]\d{0,4})$/.exec(text) ?? [];
  if (host === undefined || Number(portText) > 65_535) return null;
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  const address = { host: bare, port: Number(portText) };
  return addressText(address) === text ? address : null;
}

/** Returns an address as one text. */
export function addressText({ host, port }: Address): string {
  return `${hostText({ host })}:${port}`;
}

/** Returns the host of an address, IPv6 in brackets (RFC 3986, 3.2.2). */
export function hostText({ host }: Pick<Address, 'host'>): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
