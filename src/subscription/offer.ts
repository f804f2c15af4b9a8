import type { AccessKey, AnnouncedServer, Carrier, Published } from '../core/model.js';
import type { ToldEndpoint } from '../wire/traits/status-form.js';
import { type LinkWay, type LinkWays, writeShareLink } from '../wire/traits/write-share-link.js';
import { subscriptionToken } from './token.js';

/** The facts of the server that subscriptions tell, the same for every key. */
export interface Offer {
  /** The name that clients show. */
  readonly name: string;
  /** Hours after which clients ask again. */
  readonly interval: number;
  /** The ways to the server, the one to be tried first before the others; each is a link without its key and name. */
  readonly carriers: readonly LinkWay[];
}

export interface OfferFacts {
  readonly published: Published;
  readonly announced: AnnouncedServer;
  /** The host that a running server's status tells; null without one. */
  readonly toldHost: string | null;
  readonly ownDns: boolean;
}

const DEFAULT_NAME = 'OSTP';

const LABELS: Readonly<Record<LinkWay['type'], string>> = { uot: 'TLS', udp: 'UDP' };

/** The ways in which clients reach the server. */
export function waysOf({ published, announced, toldHost, ownDns }: OfferFacts): LinkWays {
  const { domain, tls } = published;
  const plain = { tls: false, sni: null, insecure: false, path: null, tun: false, dns: null, ownDns };
  const udp: LinkWay = {
    ...plain,
    // As servers have it, a domain is what every link names, whatever host clients were told before; what a running server says is surer.
    host: bare(domain === null ? announced.host : (toldHost ?? domain)),
    port: announced.port,
    type: 'udp',
  };
  const secure: LinkWay | null =
    tls === null || domain === null
      ? null
      : { ...plain, host: bare(domain), port: tls.port, type: 'uot', tls: true, path: tls.path };
  return { udp, tls: secure };
}

/** The same as a status tells it; the prefix of subscriptions where the server answers them by itself. */
export function endpointOf(facts: OfferFacts): ToldEndpoint {
  const { udp, tls } = waysOf(facts);
  const { enabled, prefix } = facts.published.subscription;
  return {
    host: udp.host,
    udpPort: udp.port,
    tls: tls === null ? null : { host: tls.host, port: tls.port, path: tls.path },
    subscriptionPrefix: enabled && tls !== null ? prefix : null,
    dnsEnabled: facts.ownDns,
  };
}

export function offerOf(facts: OfferFacts): Offer {
  const { domain, subscription } = facts.published;
  const { udp, tls } = waysOf(facts);
  const isIncluded = (carrier: Carrier) => subscription.include.includes(carrier);
  return {
    name: subscription.name ?? domain ?? DEFAULT_NAME,
    interval: subscription.interval,
    carriers: [...(isIncluded('tls') && tls !== null ? [tls] : []), ...(isIncluded('udp') ? [udp] : [])],
  };
}

export interface OfferedLink {
  /** `TLS` or `UDP`. */
  readonly label: string;
  readonly link: string;
}

/** The links of a key for people, named after it, else after the host; and the address of its subscription. */
export interface SharedLinks {
  readonly tls: string | null;
  readonly udp: string;
  readonly subscription: string | null;
}

export function sharedLinks(facts: OfferFacts, { accessKey, name }: AccessKey): SharedLinks {
  const { udp, tls } = waysOf(facts);
  const title = name === null || name === '' ? udp.host : name;
  const linkOf = (way: LinkWay) => writeShareLink({ ...way, accessKey, name: `${title} · ${LABELS[way.type]}` });
  const { url } = subscriptionAddress(facts, subscriptionToken(accessKey));
  return {
    tls: tls === null ? null : linkOf(tls),
    udp: linkOf(udp),
    subscription: facts.published.subscription.enabled ? url : null,
  };
}

/** Returns a token's address: the path, and the whole one where the configuration says under which name. */
export function subscriptionAddress(
  facts: OfferFacts,
  token: string,
): { readonly path: string; readonly url: string | null } {
  const { tls } = waysOf(facts);
  const path = `${facts.published.subscription.prefix}/${token}`;
  return { path, url: tls === null ? null : webOrigin(tls) + path };
}

const HTTPS_PORT = 443;

function webOrigin({ host, port }: LinkWay): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  return `https://${shown}${port === HTTPS_PORT ? '' : `:${port}`}`;
}

/** The links of a key, in the order of the offer. */
export function linksOf({ name, carriers }: Offer, key: AccessKey): readonly OfferedLink[] {
  return carriers.map((carrier) => {
    const label = LABELS[carrier.type];
    const parts = [name, ...(key.name === null || key.name === '' ? [] : [key.name]), label];
    return { label, link: writeShareLink({ ...carrier, accessKey: key.accessKey, name: parts.join(' · ') }) };
  });
}

/** A host without the brackets of IPv6. */
function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
