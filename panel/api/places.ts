import { isObject } from './objects.js';
import { FEATURES, NOTHING_KNOWN, type Offers } from './offers.js';

/** A server that the page can speak to. */
export interface Place {
  /** The API root, without a trailing slash. */
  readonly root: string;
  /** Whether it is the one that the page came from. */
  readonly own: boolean;
  /** What it says of itself, so that nothing need be tried; unknown for others. */
  readonly offers: Offers;
  /** Whether it answers without a credential; null where that must be tried. */
  readonly open: boolean | null;
}

/** Host and path for people, without the scheme where it is the page's own. */
export function placeName(root: string): string {
  const { host, pathname } = new URL(root);
  return `${host}${pathname}`;
}

/**
 * Where the page can point: its own server, and those in the `panel-config.json` beside it, which may be missing (the
 * page then stands on a plain file server).
 */
export async function findPlaces(base: string): Promise<readonly Place[]> {
  const config = await readConfig(base);
  const own: Place = {
    root: `${base}api`,
    own: true,
    offers: offersOf(config.offers),
    open: flagOrNull(config.open),
  };
  const others = Array.isArray(config.servers) ? config.servers : [];
  const roots = others.filter((root): root is string => typeof root === 'string' && URL.canParse(root));
  return [
    own,
    ...roots.map((root): Place => ({ root: root.replace(/\/+$/, ''), own: false, offers: NOTHING_KNOWN, open: null })),
  ];
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
