import gte from 'semver/functions/gte.js';

/** The number of keys in one place of a file, and of those among them that carry something. */
export interface KeyCount {
  readonly keys: number;
  readonly named: number;
  readonly limited: number;
}

/** The places of keys and listener in a configuration file. */
export interface FileOffer {
  /** The keys of its inbounds; null for a file without inbounds. */
  readonly inbounds: KeyCount | null;
  /** The keys of its root `access_keys`; null where there is none. */
  readonly rootList: RootListOffer | null;
  /** True where a listener is described, by a root `api` and by an inbound. */
  readonly rootListener: boolean;
  readonly inboundListener: boolean;
  /** True where a root array `outbounds` stands there. */
  readonly hasOutbounds: boolean;
}

/** A root `access_keys` whose elements are strings or have `access_key`, or `key` as in an inbound. */
export interface RootListOffer extends KeyCount {
  /** Keys of the inbounds that it does not have, and its own that no inbound has. */
  readonly missing: number;
  readonly besides: number;
  /** Elements with `key` alone; they count among the keys. */
  readonly underKey: number;
  /** Elements that are no plain strings. */
  readonly objects: number;
  /** Every element is a string or has `key` alone: what a server that knows inbounds takes. */
  readonly takenAtReload: boolean;
}

/** The part of a file that a server reads at one time. */
export interface KeysRead extends KeyCount {
  /** The same for people, in a few words. */
  readonly text: string;
  /** A warning for the operator, or null. */
  readonly note: string | null;
}

/** The parts of a configuration file that servers of a line read (design: "Saving keys"). */
export interface FileReading {
  readonly name: string;
  /** The versions of the line from which on it is another, rising. */
  readonly changesAt: readonly string[];
  /** Tells how servers of a version read a legacy key list; null for servers that know no inbounds. */
  legacyListReading(version: string): LegacyListReading | null;
  /** Why a server does not start from the file, in a sentence; null where it does. */
  startProblem(offer: FileOffer): string | null;
  /** The keys that a start reads, where it comes to that. */
  atStart(offer: FileOffer): KeysRead;
  /** Reads a file that has changed under a running server of this version, or 5 s after its start. */
  atLiveReload(offer: FileOffer, version: string): KeysRead;
  readsListener(offer: FileOffer): boolean;
}

/**
 * The reading of a legacy key list (a root `access_keys` in a file that also has inbounds) at a live reload. `list only`: the list
 * instead of the inbounds, so that every key must stand in both; `union`: both, an inbound's element winning, so that a key that
 * goes must go from both.
 */
export type LegacyListReading = 'list only' | 'union';

const NOTHING: KeyCount = { keys: 0, named: 0, limited: 0 };

/** Keys in the root `access_keys`, the listener under `api`, at every time. */
export const rootMembers: FileReading = {
  name: 'access_keys and api',
  changesAt: [],
  legacyListReading: () => null,
  startProblem: () => null,
  atStart: readRootList,
  atLiveReload: readRootList,
  readsListener: ({ rootListener }) => rootListener,
};

/** The same, each key a plain string (seen in the history of these servers). */
export const rootStrings: FileReading = {
  ...rootMembers,
  startProblem({ rootList }) {
    const objects = rootList?.objects ?? 0;
    if (objects === 0) return null;
    return `it takes plain strings in access_keys: of its elements ${objects} are none, which end its live reloads, too`;
  },
};

/** From this version on a live reload reads the inbounds, too. */
const UNION_SINCE = '0.3.11';

/**
 * Keys and listener under `inbounds` at the start; at a live reload the root `access_keys` too, or alone, as long as every
 * element of it is a string or has `key` (measured on 0.3.21, read in the history of those before).
 */
export const inboundsThenLegacyList: FileReading = {
  name: 'inbounds, at a live reload access_keys',
  changesAt: [UNION_SINCE],
  legacyListReading: (version) => (gte(version, UNION_SINCE) ? 'union' : 'list only'),
  startProblem: ({ hasOutbounds }) => (hasOutbounds ? null : NO_OUTBOUNDS),
  atStart: readInbounds,
  atLiveReload(offer, version) {
    const { rootList } = offer;
    if (rootList !== null && !rootList.takenAtReload) return { ...readInbounds(offer), note: RELOAD_STOPPED };
    return gte(version, UNION_SINCE) ? readBoth(offer) : readLegacyListOnly(offer);
  },
  readsListener: ({ inboundListener }) => inboundListener,
};

const NO_OUTBOUNDS = 'it wants a root array "outbounds", [] being enough, and calls the format outdated without one';

const RELOAD_STOPPED =
  'an element of access_keys that has "access_key", or neither is a string nor has "key", stops its live reloads';

/** Names and limits are those of the inbounds: an element of theirs wins, and the list cannot have any. */
function readBoth(offer: FileOffer): KeysRead {
  const { inbounds, rootList } = offer;
  if (inbounds === null || rootList === null) return readInbounds(offer);
  const { besides } = rootList;
  if (besides === 0) return readInbounds(offer);
  const text = `${keysText(inbounds.keys)} of inbounds, ${besides} of access_keys`;
  return {
    ...inbounds,
    keys: inbounds.keys + besides,
    text,
    note: `${keysText(besides)} of access_keys are in no inbound: gone at the next start`,
  };
}

function readLegacyListOnly({ inbounds, rootList }: FileOffer): KeysRead {
  const kept = inbounds === null || inbounds.keys === 0 ? '' : ', those of inbounds are dropped';
  if (rootList === null) return { ...NOTHING, text: 'no keys', note: `there is no access_keys${kept}` };
  const { keys, missing } = rootList;
  const lost = missing === 0 ? '' : `, ${missing} of inbounds are dropped`;
  return {
    ...NOTHING,
    keys,
    text: `${keysText(keys)} of access_keys`,
    note: `the keys are those of access_keys${lost}`,
  };
}

function readRootList({ rootList }: FileOffer): KeysRead {
  if (rootList === null) return { ...NOTHING, text: 'no keys', note: 'there is no access_keys' };
  const { keys, named, limited, underKey } = rootList;
  const note = underKey === 0 ? null : `of the keys ${underKey} stand under "key", which it does not know`;
  return { keys: keys - underKey, named, limited, text: `${keysText(keys)} of access_keys`, note };
}

function readInbounds({ inbounds, rootList }: FileOffer): KeysRead {
  if (inbounds !== null) return { ...inbounds, text: `${keysText(inbounds.keys)} of inbounds`, note: null };
  const migration = rootList === null ? '' : '; its own migration of access_keys drops names and limits';
  return { ...NOTHING, text: 'no keys', note: `there are no inbounds${migration}` };
}

function keysText(count: number): string {
  return count === 1 ? '1 key' : `${count} keys`;
}
