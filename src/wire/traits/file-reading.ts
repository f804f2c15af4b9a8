import gte from 'semver/functions/gte.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../json/json.js';
import { flatFile, flatFileWithDomain, flatFileWithOvernet, type ServerFileSchema } from './server-file.js';

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
  /** The other root members, without `inbounds` and `access_keys`. */
  readonly members: JsonObject;
}

/** A root `access_keys` whose elements are strings or have `access_key`, or `key` as in an inbound. */
export interface RootListOffer extends KeyCount {
  /** Keys of the inbounds that it does not have, and its own that no inbound has. */
  readonly missing: number;
  readonly besides: number;
  readonly elements: number;
  /** Elements with `key` alone; they count among the keys. */
  readonly underKey: number;
  /** Elements that are no plain strings. */
  readonly objects: number;
  /** Elements that are neither strings nor objects with `access_key`, or have a name or limit of another type. */
  readonly mistyped: number;
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
  /** The layout in which these servers look for keys. */
  readonly layout: 'access_keys' | 'inbounds';
  /** The types of the other members, where a start depends on them. */
  readonly schema: ServerFileSchema | null;
  /** The versions of the line from which on it is another, rising. */
  readonly changesAt: readonly string[];
  /** Tells how servers of a version read a legacy key list; null for servers that know no inbounds. */
  legacyListReading(version: string): LegacyListReading | null;
  /** True where one element of `access_keys` that is no plain string ends a start and every live reload. */
  readonly plainKeysAlone: boolean;
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
  layout: 'access_keys',
  schema: null,
  changesAt: [],
  legacyListReading: () => null,
  plainKeysAlone: false,
  startProblem: () => null,
  atStart: readRootList,
  atLiveReload: readRootList,
  readsListener: ({ rootListener }) => rootListener,
};

/** The same, each key a plain string (seen in the history of these servers). */
export const rootStrings: FileReading = {
  ...rootMembers,
  plainKeysAlone: true,
  startProblem({ rootList }) {
    const objects = rootList?.objects ?? 0;
    if (objects === 0) return null;
    return `it takes plain strings in access_keys: of its elements ${objects} are none, which end its live reloads, too`;
  },
};

/** The same, with every member of its type, and at least one key. */
const typedRootMembers = (name: string, schema: ServerFileSchema, readsListener: FileReading['readsListener']) => ({
  ...rootMembers,
  name,
  schema,
  startProblem: (offer: FileOffer) => keysProblem(offer) ?? schema.problem(offer.members),
  atLiveReload: readTypedList,
  readsListener,
});

/** Servers from 0.4.0 on (inferred from those before and after). */
export const typedFlatFile: FileReading = typedRootMembers('typed', flatFile, rootMembers.readsListener);

/** Servers from 0.4.6 on, which serve no API that nobody could sign in to. */
export const typedFlatFileWithDomain: FileReading = typedRootMembers(
  'typed, config_version 2',
  flatFileWithDomain,
  hasCredential,
);

/** Servers from 0.4.7 on. */
export const typedFlatFileWithOvernet: FileReading = typedRootMembers(
  'typed, config_version 3',
  flatFileWithOvernet,
  hasCredential,
);

function keysProblem({ inbounds, rootList }: FileOffer): string | null {
  const elsewhere = inbounds === null ? '' : '; it does not read inbounds';
  if (rootList === null) return `access_keys: expected an array${elsewhere}`;
  if (rootList.elements === 0) return `access_keys: expected at least one key${elsewhere}`;
  if (rootList.mistyped === 0) return null;
  return `access_keys: expected strings or objects with "access_key", found ${rootList.mistyped} other elements`;
}

function readTypedList(offer: FileOffer): KeysRead {
  const read = readRootList(offer);
  const { rootList } = offer;
  if (rootList === null) return { ...read, note: 'there is no access_keys: every key is dropped' };
  return rootList.mistyped === 0 ? read : { ...read, note: TYPED_RELOAD_STOPPED };
}

const TYPED_RELOAD_STOPPED =
  'an element of access_keys that is neither a string nor an object with "access_key" stops its live reloads';

function hasCredential({ rootListener, members: { api } }: FileOffer): boolean {
  if (!rootListener || !isJsonObject(api)) return false;
  return hasText(api.token) || (hasText(api.username) && hasText(api.password_hash));
}

function hasText(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

/** From this version on a live reload reads the inbounds, too. */
const UNION_SINCE = '0.3.11';

/**
 * Keys and listener under `inbounds` at the start; at a live reload the root `access_keys` too, or alone, as long as every
 * element of it is a string or has `key` (measured on 0.3.21, read in the history of those before).
 */
export const inboundsThenLegacyList: FileReading = {
  name: 'inbounds, at a live reload access_keys',
  layout: 'inbounds',
  schema: null,
  changesAt: [UNION_SINCE],
  legacyListReading: (version) => (gte(version, UNION_SINCE) ? 'union' : 'list only'),
  plainKeysAlone: false,
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
