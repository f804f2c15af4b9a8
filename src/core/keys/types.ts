import type { KeySnapshot } from '../model.js';
import type { ChangeReader } from './change-log.js';

/** A key as the registry holds it. Fields are replaced in place; readers must not keep an entry over an await. */
export interface KeyEntry extends KeySnapshot {
  /** Position in the order of registration. */
  readonly order: number;
  /** A small number that no other living key has; freed by removal. Views index their caches by it. */
  readonly slot: number;
  /** The registry's generation when this entry last changed. */
  readonly changedAt: number;
  readonly alive: boolean;
  /** Bytes up and down have reached the limit. */
  readonly overLimit: boolean;
}

/** The keys that a command asks for. */
export interface AskedKeys {
  /** Each is a key or a name. */
  readonly words: readonly string[];
  /** A word may also be the beginning of either, or a key's name in logs. */
  readonly mayBegin: boolean;
  /** True to load all keys if a word stands for none, so that the nearest can be named. */
  readonly elseAll: boolean;
}

/** The number of registered keys in each state, updated with every change so that reading it costs nothing. */
export interface KeyCounts {
  /** Counter entries with traffic (protocol: "Server status"). */
  readonly active: number;
  /** Bytes up and down have reached the limit. */
  readonly overLimit: number;
  readonly withCounters: number;
  /** The data plane reports open connections. */
  readonly connected: number;
}

/** The present values that the data plane gives of one key, all unsigned 64-bit. */
export interface CounterValues {
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  readonly connections: bigint;
}

/** The counters of one key as they are kept beyond the process; the limit is the configuration file's. */
export interface KeptCounters extends CounterValues {
  readonly accessKey: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * The time at which the key left by the configuration, in milliseconds since the epoch; null while it is registered.
   */
  readonly leftAt: number | null;
}

/** The usage of one key since the last report, all unsigned 64-bit. */
export interface UsageEntry {
  readonly accessKey: string;
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  /** The present number of connections; null leaves it as it is. */
  readonly connections: bigint | null;
}

/** Entries of a report that could not be counted as they stand. */
export interface UsageOutcome {
  /** Keys that are not registered, and so not counted. */
  readonly unknown: readonly string[];
  /** Keys with a sum that would have passed 2^64-1 and stays there. */
  readonly full: readonly string[];
}

/** The keys as readers see them. */
export interface KeyReader {
  get(accessKey: string): KeyEntry | undefined;
  /** Every key, in the order of registration. */
  entries(): Iterable<KeyEntry>;
  /** Registered keys (protocol: "Server status"). */
  readonly size: number;
  /** Counter entries with traffic (protocol: "Server status"). */
  readonly active: number;
  readonly counts: KeyCounts;
  /** The sums over the counters of all keys, each at most 2^64-1. */
  sums(): CounterValues;
  /** Counts every change. */
  readonly generation: number;
  /** The generation of the last change that did not come from the data plane. */
  readonly answeredGeneration: number;
  /** By bytes down, descending; equal ones in the order of registration (protocol: "Users"). */
  ordered(): readonly KeyEntry[];
  /**
   * The changes of who is admitted: keys that came or went, limits, and keys that passed their limit or are under it
   * again. Usage alone is no change.
   */
  readonly admissions: ChangeReader;
  /** Changes of keys besides usage, and keys that passed their limit. */
  readonly changes: ChangeReader;
  /** Logs in `changes` that something has changed which is kept about a registered key apart from its record. */
  markChanged(accessKey: string, change: 'noted' | 'owned'): void;
}

/** The registry as a store of counters sees it. */
export interface CounterSource {
  /** Returns the counters to keep of a key; null when there are none. */
  kept(accessKey: string): KeptCounters | null;
  /**
   * Yields everything to be kept. Later changes may come in between: a key that changes meanwhile may be old or new.
   */
  allKept(): Iterable<KeptCounters>;
  /**
   * Visits what may have changed since the last call with what is to be kept of it now, as `kept` says; a key may come
   * up twice. Nothing, unless the registry was told to track changes.
   */
  takeChanged(visit: (accessKey: string, kept: KeptCounters | null) => void): void;
  /**
   * Tells whether `takeChanged` left out keys since the last call, which a configuration brought with counters at zero:
   * too many to list, so that a whole rewrite is due.
   */
  takeUnlisted(): boolean;
}
