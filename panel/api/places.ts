import { isObject } from './objects.js';
import { FEATURES, NOTHING_KNOWN, type Offers } from './offers.js';

/** A server that the page can speak to. */
export interface Place {
  /** The API root, without a trailing slash. */
  readonly root: string;
  /** The operator's name for it; empty where it was given none. */
  readonly name: string;
  /** The API root, at another origin where the server has an address for subscriptions alone. */
  readonly subscriptions: string;
  /** Keyway's own version, where the page was told of it; null of other servers. */
  readonly keyway: string | null;
  /** The root of Keyway's own interface; null where the page was told of none. */
  readonly ownApi: string | null;
  /** True for the one that the page came from. */
  readonly own: boolean;
  /** Its own list, so that nothing need be tried; unknown for others. */
  readonly offers: Offers;
  /** True where it takes a static token; null where that must be tried. */
  readonly token: boolean | null;
  /** True where it answers without a credential; null where that must be tried. */
  readonly open: boolean | null;
}

/** The server's name, else its host: the path may be a secret, which is not for everybody who sees the screen. */
export function placeName({ name, root }: Place): string {
  return name === '' ? new URL(root).host : name;
}

/** The server's name, else its host and path. */
export function placeAddress({ name, root }: Place): string {
  if (name !== '') return name;
  const { host, pathname } = new URL(root);
  return `${host}${pathname}`;
}

/**
 * Finds the page's places: its own server, and those in the `panel-config.json` beside it, which may be missing (the
 * page then stands on a plain file server).
 */
export async function findPlaces(base: string): Promise<readonly Place[]> {
  const config = await readConfig(base);
  const root = `${base}api`;
  const own: Place = {
    root,
    name: '',
    subscriptions: subscriptionRoot(root, config.subscriptions),
    keyway: typeof config.keyway === 'string' ? config.keyway : null,
    ownApi: config.ownApi === true ? `${base}keyway/v1` : null,
    own: true,
    offers: offersOf(config.offers),
    token: flagOrNull(config.token),
    open: flagOrNull(config.open),
  };
  const others = Array.isArray(config.servers) ? config.servers : [];
  return [own, ...others.flatMap(otherPlace)];
}

function otherPlace(server: unknown): readonly Place[] {
  if (!isObject(server) || typeof server.root !== 'string' || !URL.canParse(server.root)) return [];
  const root = server.root.replace(/\/+$/, '');
  const name = typeof server.name === 'string' ? server.name : '';
  const unknown = { keyway: null, ownApi: null, offers: NOTHING_KNOWN, token: null, open: null };
  return [{ root, name, subscriptions: root, own: false, ...unknown }];
}

/** The same path at the address for subscriptions, whose host is that of the page where it listens on all of them. */
function subscriptionRoot(root: string, address: unknown): string {
  if (!isObject(address)) return root;
  const url = new URL(root);
  url.protocol = address.tls === true ? 'https:' : 'http:';
  if (typeof address.host === 'string') url.hostname = address.host;
  url.port = String(address.port);
  return url.href;
}

async function readConfig(base: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const response = await fetch(`${base}panel-config.json`, { cache: 'no-store', credentials: 'omit' });
    const value: unknown = await response.json();
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function offersOf(value: unknown): Offers {
  if (!Array.isArray(value)) return NOTHING_KNOWN;
  const pairs = FEATURES.map((feature) => [feature, value.includes(feature)] as const);
  return { ...NOTHING_KNOWN, ...Object.fromEntries(pairs) };
}

function flagOrNull(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}
