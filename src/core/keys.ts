import type { AccessKey, KeySnapshot, TrafficCounters } from './model.js';
import { createOrderedKeys, type OrderedKeys } from './ordered-keys.js';

/** A key as the registry holds it. Fields are replaced in place; readers must not keep an entry over an await. */
export interface KeyEntry extends KeySnapshot {
  /** Position in the order of registration. */
  readonly order: number;
  /** A small number that no other living key has; freed by removal. Views index their caches by it. */
  readonly slot: number;
  /** The registry's generation when this entry last changed. */
  readonly changedAt: number;
  readonly alive: boolean;
}

/** What the data plane says of one key: present values, all unsigned 64-bit. */
export interface CounterValues {
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  readonly connections: bigint;
}

/** What readers of keys may ask. */
export interface KeyReader {
  get(accessKey: string): KeyEntry | undefined;
  /** Registered keys (spec: `total_users`). */
  readonly size: number;
  /** Counter entries with traffic (spec: `active_users`). */
  readonly active: number;
  /** Counts every change. */
  readonly generation: number;
  /** The generation of the last change that did not come from the data plane. */
  readonly answeredGeneration: number;
  /** By bytes down, descending; equal ones in the order of registration (spec: GET /users). */
  ordered(): readonly KeyEntry[];
}

/** The set of access keys with their counters (spec: "Access key lifecycle"). */
export interface KeyRegistry extends KeyReader {
  /** Registers with counters at zero, replacing record and counters of an existing key, which keeps its place. */
  create(key: AccessKey): void;
  /** Registers without counters (bulk creation). */
  createWithoutCounters(key: AccessKey): void;
  /** Overwrites name and limit, counters kept, created where absent; false when the key is unknown. */
  update(key: AccessKey): boolean;
  /** Sets traffic to zero, limit kept; false when the key is unknown or has no counters. */
  reset(accessKey: string): boolean;
  /** Drops record and counters; false when the key is unknown. */
  remove(accessKey: string): boolean;
  /** Takes over the keys of a configuration: counters of those that stay are kept, of those that go set aside until they return. */
  replaceAll(keys: readonly AccessKey[]): void;
  /** The data plane's door: present values of one key; false when the key is unknown. */
  setCounters(accessKey: string, values: CounterValues): boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Entry = Mutable<KeyEntry>;

/** Creates an empty registry. `now` gives milliseconds since the epoch, for `createdAt`. */
export function createKeyRegistry(now: () => number): KeyRegistry {
  const entries = new Map<string, Entry>();
  const departed = new Map<string, TrafficCounters>();
  const freeSlots: number[] = [];
  const order: OrderedKeys = createOrderedKeys();
  let nextSlot = 0;
  let nextOrder = 0;
  let active = 0;
  let generation = 0;
  let answeredGeneration = 0;

  const fresh = (limitBytes: bigint | null): TrafficCounters => ({
    bytesUp: 0n,
    bytesDown: 0n,
    connections: 0n,
    limitBytes,
    createdAt: now(),
  });

  function touch(entry: Entry): void {
    generation += 1;
    answeredGeneration = generation;
    mark(entry);
  }

  function mark(entry: Entry): void {
    order.touch(entry);
    entry.changedAt = generation;
  }

  function setEntryCounters(entry: Entry, counters: TrafficCounters | null): void {
    active += Number(hasTraffic(counters)) - Number(hasTraffic(entry.counters));
    entry.counters = counters;
  }

  function put(key: AccessKey, counters: TrafficCounters | null): void {
    const present = entries.get(key.accessKey);
    if (present === undefined) {
      const slot = freeSlots.pop() ?? nextSlot++;
      const entry: Entry = {
        accessKey: key.accessKey,
        name: key.name,
        limitBytes: key.limitBytes,
        counters: null,
        order: nextOrder++,
        slot,
        changedAt: 0,
        alive: true,
      };
      entries.set(key.accessKey, entry);
      setEntryCounters(entry, counters);
      touch(entry);
      return;
    }
    present.name = key.name;
    present.limitBytes = key.limitBytes;
    setEntryCounters(present, counters);
    touch(present);
  }

  function drop(entry: Entry): void {
    setEntryCounters(entry, null);
    entries.delete(entry.accessKey);
    freeSlots.push(entry.slot);
    touch(entry);
    entry.alive = false;
  }

  function update(key: AccessKey): boolean {
    const present = entries.get(key.accessKey);
    if (present === undefined) return false;
    put(key, { ...(present.counters ?? fresh(null)), limitBytes: key.limitBytes });
    return true;
  }

  function fromFile(key: AccessKey): void {
    const present = entries.get(key.accessKey);
    const counters = present?.counters ?? departed.get(key.accessKey);
    departed.delete(key.accessKey);
    if (present !== undefined && counters !== undefined && sameRecord(present, key)) return;
    put(key, counters === undefined ? fresh(key.limitBytes) : { ...counters, limitBytes: key.limitBytes });
  }

  function replaceAll(keys: readonly AccessKey[]): void {
    if (entries.size > 0) {
      const staying = new Set(keys.map((key) => key.accessKey));
      for (const entry of entries.values()) {
        if (staying.has(entry.accessKey)) continue;
        if (entry.counters !== null) departed.set(entry.accessKey, entry.counters);
        drop(entry);
      }
    }
    for (const key of keys) fromFile(key);
  }

  return {
    get: (accessKey) => entries.get(accessKey),
    get size() {
      return entries.size;
    },
    get active() {
      return active;
    },
    get generation() {
      return generation;
    },
    get answeredGeneration() {
      return answeredGeneration;
    },
    ordered: () => order.read(entries, generation),
    create(key) {
      departed.delete(key.accessKey);
      put(key, fresh(key.limitBytes));
    },
    createWithoutCounters: (key) => put(key, null),
    update,
    reset(accessKey) {
      const entry = entries.get(accessKey);
      if (entry === undefined || entry.counters === null) return false;
      setEntryCounters(entry, { ...entry.counters, bytesUp: 0n, bytesDown: 0n, connections: 0n });
      touch(entry);
      return true;
    },
    remove(accessKey) {
      departed.delete(accessKey);
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      drop(entry);
      return true;
    },
    replaceAll,
    setCounters(accessKey, values) {
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      setEntryCounters(entry, { ...(entry.counters ?? fresh(entry.limitBytes)), ...values });
      generation += 1;
      mark(entry);
      return true;
    },
  };
}

function hasTraffic(counters: TrafficCounters | null): boolean {
  return counters !== null && (counters.bytesUp > 0n || counters.bytesDown > 0n);
}

function sameRecord(entry: KeyEntry, key: AccessKey): boolean {
  return entry.name === key.name && entry.limitBytes === key.limitBytes;
}
