/** How many keys stand in one place of a file, and how many of them carry something. */
export interface KeyCount {
  readonly keys: number;
  readonly named: number;
  readonly limited: number;
}

/** What a configuration file offers a server: where its keys and its listener stand. */
export interface FileOffer {
  /** The keys of its inbounds; null for a file without inbounds. */
  readonly inbounds: KeyCount | null;
  /** The keys of its root `access_keys`; null where there is none. */
  readonly rootList: RootListOffer | null;
  /** Whether a listener is described, by a root `api` and by an inbound. */
  readonly rootListener: boolean;
  readonly inboundListener: boolean;
}

/** A root `access_keys` whose elements are strings or have `access_key`, or `key` as in an inbound. */
export interface RootListOffer extends KeyCount {
  /** Elements with `key` alone; they count among the keys. */
  readonly underKey: number;
  /** Every element is a string or has `key` alone: what a server that knows inbounds takes. */
  readonly takenAtReload: boolean;
}

/** What a server reads of a file at one time. */
export interface KeysRead extends KeyCount {
  /** The same for people, in a few words. */
  readonly text: string;
  /** What an operator should know about it, or null. */
  readonly note: string | null;
}

/** What servers of a line read of a configuration file (design: "Saving keys"). */
export interface FileReading {
  readonly name: string;
  atStart(offer: FileOffer): KeysRead;
  /** When the file has changed under a running server, or 5 s after its start. */
  atLiveReload(offer: FileOffer): KeysRead;
  readsListener(offer: FileOffer): boolean;
}

const NOTHING: KeyCount = { keys: 0, named: 0, limited: 0 };

/** Keys in the root `access_keys`, the listener under `api`, at every time. */
export const rootMembers: FileReading = {
  name: 'access_keys and api',
  atStart: readRootList,
  atLiveReload: readRootList,
  readsListener: ({ rootListener }) => rootListener,
};

/**
 * Keys and listener under `inbounds` at the start. A root `access_keys` takes the place of the keys at the first live
 * reload, without names and limits, and only while every element is a string or has `key` (measured on 0.3.21).
 */
export const inboundsThenRootList: FileReading = {
  name: 'inbounds, at a live reload access_keys',
  atStart: readInbounds,
  atLiveReload(offer) {
    const { rootList } = offer;
    if (rootList === null) return readInbounds(offer);
    if (!rootList.takenAtReload) return { ...readInbounds(offer), note: RELOAD_STOPPED };
    const { keys } = rootList;
    const note = 'the keys of access_keys take the place of those of inbounds, without names and limits';
    return { ...NOTHING, keys, text: `${keysText(keys)} of access_keys`, note };
  },
  readsListener: ({ inboundListener }) => inboundListener,
};

const RELOAD_STOPPED =
  'an element of access_keys that has "access_key", or neither is a string nor has "key", stops its live reloads';

function readRootList({ rootList }: FileOffer): KeysRead {
  if (rootList === null) return { ...NOTHING, text: 'no keys', note: 'there is no access_keys' };
  const { keys, named, limited, underKey } = rootList;
  const note = underKey === 0 ? null : `of the keys ${underKey} stand under "key", which it does not know`;
  return { keys, named, limited, text: `${keysText(keys)} of access_keys`, note };
}

function readInbounds({ inbounds, rootList }: FileOffer): KeysRead {
  if (inbounds !== null) return { ...inbounds, text: `${keysText(inbounds.keys)} of inbounds`, note: null };
  const migration = rootList === null ? '' : '; its own migration of access_keys drops names and limits';
  return { ...NOTHING, text: 'no keys', note: `there are no inbounds${migration}` };
}

function keysText(count: number): string {
  return count === 1 ? '1 key' : `${count} keys`;
}
