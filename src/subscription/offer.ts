import type { AccessKey, AnnouncedServer, Carrier, Published } from '../core/model.js';
import { type ShareLink, writeShareLink } from '../wire/traits/share-link-codec.js';

/** The facts of the server that subscriptions tell, the same for every key. */
export interface Offer {
  /** The name that clients show. */
  readonly name: string;
  /** Hours after which clients ask again. */
  readonly interval: number;
  /** The ways to the server, the one to be tried first before the others; each is a link without its key and name. */
  readonly carriers: readonly Link[];
}

type Link = Omit<ShareLink, 'accessKey' | 'name'>;

export interface OfferFacts {
  readonly published: Published;
  readonly announced: AnnouncedServer;
  /** The host that an operator has given; null where the state is to say it. */
  readonly givenHost: string | null;
  readonly ownDns: boolean;
}

const DEFAULT_NAME = 'OSTP';

const LABELS: Readonly<Record<Link['type'], string>> = { uot: 'TLS', udp: 'UDP' };

export function offerOf({ published, announced, givenHost, ownDns }: OfferFacts): Offer {
  const { domain, foundHost, tls, subscription } = published;
  const plain = { tls: false, sni: null, insecure: false, path: null, tun: false, dns: null, ownDns };
  const udp: Link = {
    ...plain,
    host: bare(givenHost ?? domain ?? foundHost ?? announced.host),
    port: announced.port,
    type: 'udp',
  };
  const secure: readonly Link[] =
    tls === null || domain === null
      ? []
      : [{ ...plain, host: bare(domain), port: tls.port, type: 'uot', tls: true, path: tls.path }];
  const isIncluded = (carrier: Carrier) => subscription.include.includes(carrier);
  return {
    name: subscription.name ?? domain ?? DEFAULT_NAME,
    interval: subscription.interval,
    carriers: [...(isIncluded('tls') ? secure : []), ...(isIncluded('udp') ? [udp] : [])],
  };
}

/** A link as it is given out. */
export interface OfferedLink {
  /** `TLS` or `UDP`. */
  readonly label: string;
  readonly link: string;
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
