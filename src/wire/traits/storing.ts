import gte from 'semver/functions/gte.js';
import lte from 'semver/functions/lte.js';
import valid from 'semver/functions/valid.js';

/**
 * The most milliseconds that a server takes to settle a change: to read one of its file, which it checks every 5 s, and
 * to store and read back one that its API has acknowledged (design: "When a write is settled").
 */
export const SETTLED_AFTER = 7_000;

/** How servers of a line store what their own API changes (protocol: "What servers store"). */
export interface Storing {
  readonly name: string;
  /** True if a server starts with the keys that its API made. */
  readonly startsWithKeys: boolean;
  /** Why its next start undoes what its API changed, as a clause for the user; null if it does not. */
  readonly undoneBecause: string | null;
  /**
   * Tells whether a server of this version drops every key at a live reload that finds no root `access_keys`; an
   * invalid version counts as the latest.
   */
  needsRootList(version: string): boolean;
  /** True if a server stores rules for its next start. */
  readonly storesRules: boolean;
  /** Tells whether a server of this version keeps its counters across a restart. */
  keepsCounters(version: string): boolean;
}

/** The first release whose servers read their counters back (read in their source, not measured). */
const KEEPS_COUNTERS_SINCE = '0.4.6-beta.10';

/** The file has everything that changes. */
export const storesAll: Storing = {
  name: 'keys and rules',
  startsWithKeys: true,
  undoneBecause: null,
  needsRootList: () => false,
  storesRules: true,
  keepsCounters: () => false,
};

/** Counters survive a restart, too. */
export const storesAllAndCounters: Storing = {
  ...storesAll,
  name: 'keys, rules and counters',
  keepsCounters: (version) => valid(version) !== null && gte(version, KEEPS_COUNTERS_SINCE),
};

/** Changes by the API stay in memory (seen in the history of these servers, not run). */
export const storesNothing: Storing = {
  name: 'nothing',
  startsWithKeys: false,
  undoneBecause: 'start with the keys of their file, and their API stores nothing',
  needsRootList: () => false,
  storesRules: false,
  keepsCounters: () => false,
};

/** The last release whose live reload reads only the root list. */
const LAST_WITH_ROOT_LIST = '0.3.10';

/** Keys go to a root `access_keys` that no start reads; rules go nowhere. */
export const storesBesideInbounds: Storing = {
  name: 'keys, but not for the next start',
  startsWithKeys: false,
  undoneBecause: 'start with the keys of their inbounds, and their API stores keys elsewhere',
  needsRootList: (version) => valid(version) !== null && lte(version, LAST_WITH_ROOT_LIST),
  storesRules: false,
  keepsCounters: (version) => valid(version) !== null && gte(version, KEEPS_COUNTERS_SINCE),
};
