import type { AccessKey } from '../model.js';
import { type AdmissionReader, createAdmissionLog } from './admission-log.js';
import { createCounterTable } from './counter-table.js';
import { createKeyCounting, type KeyCounts } from './counts.js';
import { Entry, type KeyEntry } from './entry.js';
import { createOrderedKeys, type OrderedKeys } from './order.js';

export type { KeyEntry } from './entry.js';

/** What the data plane says of one key: present values, all unsigned 64-bit. */
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
  /** When the key left by the configuration, in milliseconds since the epoch; null while it is registered. */
  readonly leftAt: number | null;
}

/** What was used of one key since the last report, all unsigned 64-bit. */
export interface UsageEntry {
  readonly accessKey: string;
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  /** The present number; null leaves it as it is. */
  readonly connections: bigint | null;
}

/** Which entries of a report could not be counted as they stand. */
export interface UsageOutcome {
  /** Not registered, so not counted. */
  readonly unknown: readonly string[];
  /** A sum would have passed 2^64-1 and stays there. */
  readonly full: readonly string[];
}

/** What readers of keys may ask. */
export interface KeyReader {
  get(accessKey: string): KeyEntry | undefined;
  /** Every key, in the order of registration. */
  entries(): Iterable<KeyEntry>;
  /** Registered keys (spec: `total_users`). */
  readonly size: number;
  /** Counter entries with traffic (spec: `active_users`). */
  readonly active: number;
  readonly counts: KeyCounts;
  /** Counts every change. */
  readonly generation: number;
  /** The generation of the last change that did not come from the data plane. */
  readonly answeredGeneration: number;
  /** By bytes down, descending; equal ones in the order of registration (spec: GET /users). */
  ordered(): readonly KeyEntry[];
  readonly admissions: AdmissionReader;
}

/** What a store of counters asks of the registry. */
export interface CounterSource {
  /** What is to be kept of a key; null when nothing is. */
  kept(accessKey: string): KeptCounters | null;
  /** Everything that is to be kept. May be read on over later changes; a key that changes meanwhile may be old or new. */
  allKept(): Iterable<KeptCounters>;
  /**
   * Visits what may have changed since the last call with what is to be kept of it now, as `kept` says; a key may come
   * up twice. Nothing, unless the registry was told to track changes.
   */
  takeChanged(visit: (accessKey: string, kept: KeptCounters | null) => void): void;
  /**
   * Whether `takeChanged` has left out keys since the last call, which a configuration brought with counters at zero: so
   * many that they are better written with everything else.
   */
  takeUnlisted(): boolean;
}

/** The set of access keys with their counters (spec: "Access key lifecycle"). */
export interface KeyRegistry extends KeyReader, CounterSource {
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
  /** Drops the record; the counters wait as if the key had left by the configuration. False when the key is unknown. */
  setAside(accessKey: string): boolean;
  /** Drops counters that wait for their key. */
  forget(accessKey: string): void;
  /** Takes over the keys of a configuration: counters of those that stay are kept, of those that go set aside until they return. */
  replaceAll(keys: readonly AccessKey[]): void;
  /** The data plane's door: present values of one key; false when the key is unknown. */
  setCounters(accessKey: string, values: CounterValues): boolean;
  /** Counts a report, whole: no reader sees a part of it. */
  addUsage(entries: readonly UsageEntry[]): UsageOutcome;
  /**
   * Takes over the counters of one key as they were kept; while the key is not registered they wait for it. One without
   * a time of leaving that the next configuration does not have leaves with that.
   */
  takeOver(kept: KeptCounters): void;
  /** As `takeOver`, for what the store has already: no change, unless the key has come back meanwhile. */
  load(kept: KeptCounters): void;
  /** The store has dropped the counters that it had of this key: a registered one starts at zero. */
  loadDropped(accessKey: string): void;
  /** Sets every registered key to what was kept, or to zero; what else was kept waits for its key. */
  restore(all: Iterable<KeptCounters>): void;
  /** Drops the counters of keys that left at or before this time; returns how many. */
  forgetDeparted(leftUntil: number): number;
}

export interface KeyRegistryOptions {
  /** Whether changed counters are remembered for `takeChanged`; default false. */
  readonly tracksChanges?: boolean;
}

/** Entries that are fetched together: their rows and names stay near meanwhile. */
const AT_ONCE = 256;

/** New keys of one configuration, all at zero, that are not worth a batch of their own. */
const MANY_NEW = 10_000;

/** Creates an empty registry. `now` gives milliseconds since the epoch, for `createdAt` and `leftAt`. */
export function createKeyRegistry(now: () => number, { tracksChanges = false }: KeyRegistryOptions = {}): KeyRegistry {
  const entries = new Map<string, Entry>();
  /** Keys that left by the configuration: the rows of their counters wait for their return. */
  const departed = new Map<string, number>();
  /** Since when; a key is not in it until a configuration has shown that it is not there. */
  const leftTimes = new Map<string, number>();
  const table = createCounterTable();
  const counting = createKeyCounting(table);
  const order: OrderedKeys = createOrderedKeys(table.compareBytesDown);
  const admissions = createAdmissionLog();
  /** Changed entries, and names whose counters left or waited. An entry in hand saves looking its name up again. */
  let listed: Entry[] = [];
  let changedNames: string[] = [];
  /** New keys are among the changes, unless there are too many at once: then those that began at this time are counted. */
  let listsNew = true;
  let unlisted = 0;
  let unlistedSince = 0;
  /** What the entries are as they stand, each with counters; null when something else has happened to them. */
  let asConfigured: readonly AccessKey[] | null = null;
  let nextOrder = 0;
  let generation = 0;
  let answeredGeneration = 0;
  /** Keeps the compiler from leaving `fetch` out. */
  const fetched = { sum: 0 };

  function touch(entry: Entry): void {
    asConfigured = null;
    generation += 1;
    answeredGeneration = generation;
    mark(entry);
  }

  /** To be called for the generation that the change made. */
  function mark(entry: Entry): void {
    order.touch(entry);
    entry.changedAt = generation;
    list(entry);
  }

  function list(entry: Entry): void {
    if (!tracksChanges || entry.isListed) return;
    entry.isListed = true;
    listed.push(entry);
  }

  function listName(accessKey: string): void {
    if (tracksChanges) changedNames.push(accessKey);
  }

  function forget(accessKey: string): void {
    const slot = departed.get(accessKey);
    if (slot === undefined) return;
    table.free(slot);
    departed.delete(accessKey);
    leftTimes.delete(accessKey);
    listName(accessKey);
  }

  /** Runs a change of an entry's counters or record and follows what it means for the counts and for admission. */
  function changing(entry: Entry, change: () => void): void {
    const limitBefore = entry.limitBytes;
    const overBefore = entry.overLimit;
    counting.leave(entry);
    change();
    entry.overLimit = isOver(entry);
    counting.enter(entry);
    if (limitBefore !== entry.limitBytes || overBefore !== entry.overLimit) admissions.note(entry.accessKey);
    touch(entry);
  }

  /** Sums are 64-bit numbers of their own, which a million keys without traffic need not make. */
  function isOver({ limitBytes, slot }: Entry): boolean {
    if (limitBytes === null) return false;
    return table.hasTraffic(slot) ? table.traffic(slot) >= limitBytes : limitBytes === 0n;
  }

  function startAtZero(entry: Entry, at = now()): void {
    table.clear(entry.slot);
    table.setCreatedAt(entry.slot, at);
    entry.hasCounters = true;
  }

  /** Counters that wait for the key come with it; whoever does not want them forgets them before. */
  function register(key: AccessKey, change: (entry: Entry) => void): void {
    const waiting = departed.get(key.accessKey);
    if (waiting !== undefined) departed.delete(key.accessKey);
    const entry = new Entry(key, nextOrder++, waiting ?? table.take(), table);
    entry.hasCounters = waiting !== undefined;
    entries.set(key.accessKey, entry);
    // At a start a million keys find their counters as they are kept: no reason to write them all again.
    const isAsKept = waiting !== undefined && !leftTimes.delete(key.accessKey);
    const isLeftOut = isAsKept || !listsNew;
    entry.isListed = isLeftOut;
    change(entry);
    entry.overLimit = isOver(entry);
    counting.enter(entry);
    admissions.note(entry.accessKey);
    touch(entry);
    if (isLeftOut) entry.isListed = false;
  }

  function put(key: AccessKey, change: (entry: Entry) => void): void {
    const entry = entries.get(key.accessKey);
    if (entry === undefined) {
      register(key, change);
      return;
    }
    changing(entry, () => {
      entry.name = key.name;
      entry.limitBytes = key.limitBytes;
      change(entry);
    });
  }

  function withCounters(entry: Entry): void {
    if (!entry.hasCounters) startAtZero(entry);
  }

  function drop(entry: Entry, keepsCounters: boolean): void {
    counting.leave(entry);
    entries.delete(entry.accessKey);
    touch(entry);
    entry.alive = false;
    admissions.note(entry.accessKey);
    if (keepsCounters && entry.hasCounters) {
      departed.set(entry.accessKey, entry.slot);
      leftTimes.set(entry.accessKey, now());
    } else table.free(entry.slot);
    entry.hasCounters = false;
  }

  function dropAllBut(keys: readonly AccessKey[]): void {
    if (entries.size === 0) return;
    const staying = new Set(keys.map((key) => key.accessKey));
    for (const entry of entries.values()) if (!staying.has(entry.accessKey)) drop(entry, true);
  }

  function registerAll(keys: readonly AccessKey[]): void {
    const before = entries.size;
    const at = now();
    const withCountersSince = (entry: Entry): void => {
      if (!entry.hasCounters) startAtZero(entry, at);
    };
    listsNew = keys.length - before < MANY_NEW;
    for (const key of keys) {
      const present = entries.get(key.accessKey);
      if (present === undefined || !present.hasCounters || !sameRecord(present, key)) put(key, withCountersSince);
    }
    if (!listsNew) {
      unlisted += entries.size - before;
      unlistedSince = at;
    }
    listsNew = true;
  }

  function replaceAll(keys: readonly AccessKey[]): void {
    if (keys !== asConfigured) {
      dropAllBut(keys);
      registerAll(keys);
      asConfigured = keys;
    }
    for (const accessKey of departed.keys()) {
      if (leftTimes.has(accessKey)) continue;
      leftTimes.set(accessKey, now());
      listName(accessKey);
    }
  }

  function addUsage(report: readonly UsageEntry[]): UsageOutcome {
    const unknown: string[] = [];
    const full: string[] = [];
    generation += 1;
    const found = report.map(({ accessKey }) => entries.get(accessKey));
    fetch(found);
    let next = 0;
    for (const { accessKey, bytesUp, bytesDown, connections } of report) {
      const entry = found[next];
      next += 1;
      if (entry === undefined) {
        unknown.push(accessKey);
        continue;
      }
      counting.leave(entry);
      withCounters(entry);
      const { slot } = entry;
      if (table.add(slot, bytesUp, bytesDown)) full.push(accessKey);
      if (connections !== null) table.setConnections(slot, connections);
      if (!entry.overLimit && isOver(entry)) {
        entry.overLimit = true;
        admissions.note(accessKey);
      }
      counting.enter(entry);
      mark(entry);
    }
    return { unknown, full };
  }

  /**
   * Looks at the rows and names of entries before any is worked on. With a million keys each of them is far away in memory;
   * asked for in one go, they come side by side instead of one after the other.
   */
  function fetch(some: readonly (Entry | undefined)[]): void {
    let seen = 0;
    for (const entry of some) {
      if (entry !== undefined) seen += table.look(entry.slot) + entry.accessKey.charCodeAt(0);
    }
    fetched.sum = seen;
  }

  function writeRow(slot: number, kept: KeptCounters): void {
    table.write(slot, kept);
    table.setCreatedAt(slot, kept.createdAt);
  }

  function takeOver(kept: KeptCounters): void {
    const entry = entries.get(kept.accessKey);
    if (entry === undefined) {
      wait(kept);
      listName(kept.accessKey);
      return;
    }
    changing(entry, () => {
      writeRow(entry.slot, kept);
      entry.hasCounters = true;
    });
  }

  function load(kept: KeptCounters): void {
    const entry = entries.get(kept.accessKey);
    if (entry === undefined) {
      wait(kept);
      return;
    }
    if (unlisted > 0 && table.createdAt(entry.slot) === unlistedSince) unlisted -= 1;
    loadRow(entry, kept);
    entry.isListed = false;
    if (kept.leftAt !== null) list(entry);
  }

  /** Sets what the entry counts from, which is no change of the key. */
  function loadRow(entry: Entry, kept: KeptCounters): void {
    const overBefore = entry.overLimit;
    counting.leave(entry);
    writeRow(entry.slot, kept);
    entry.hasCounters = true;
    entry.overLimit = isOver(entry);
    counting.enter(entry);
    if (overBefore !== entry.overLimit) admissions.note(entry.accessKey);
    order.touch(entry);
    generation += 1;
    entry.changedAt = generation;
  }

  function loadDropped(accessKey: string): void {
    forget(accessKey);
    const entry = entries.get(accessKey);
    if (entry === undefined) return;
    loadRow(entry, { accessKey, bytesUp: 0n, bytesDown: 0n, connections: 0n, createdAt: now(), leftAt: null });
    list(entry);
  }

  /** Counters whose key is not registered. */
  function wait(kept: KeptCounters): void {
    const { accessKey, leftAt } = kept;
    const slot = departed.get(accessKey) ?? table.take();
    departed.set(accessKey, slot);
    if (leftAt === null) leftTimes.delete(accessKey);
    else leftTimes.set(accessKey, leftAt);
    writeRow(slot, kept);
  }

  /** Written out: this runs for every changed key of every batch, and a spread takes most of its time. */
  function keptAt(accessKey: string, slot: number, leftAt: number | null): KeptCounters {
    const { bytesUp, bytesDown, connections } = table.read(slot);
    return { accessKey, bytesUp, bytesDown, connections, createdAt: table.createdAt(slot), leftAt };
  }

  function keptOf(accessKey: string): KeptCounters | null {
    const entry = entries.get(accessKey);
    if (entry !== undefined) return entry.hasCounters ? keptAt(accessKey, entry.slot, null) : null;
    const slot = departed.get(accessKey);
    return slot === undefined ? null : keptAt(accessKey, slot, leftTimes.get(accessKey) ?? null);
  }

  function* allKept(): Generator<KeptCounters> {
    for (const { accessKey, hasCounters, slot } of entries.values()) {
      if (hasCounters) yield keptAt(accessKey, slot, null);
    }
    for (const [accessKey, slot] of departed) yield keptAt(accessKey, slot, leftTimes.get(accessKey) ?? null);
  }

  return {
    get: (accessKey) => entries.get(accessKey),
    entries: () => entries.values(),
    get size() {
      return entries.size;
    },
    get active() {
      return counting.counts.active;
    },
    counts: counting.counts,
    get generation() {
      return generation;
    },
    get answeredGeneration() {
      return answeredGeneration;
    },
    ordered: () => order.read(entries, generation),
    admissions,
    create(key) {
      forget(key.accessKey);
      put(key, startAtZero);
    },
    createWithoutCounters(key) {
      forget(key.accessKey);
      put(key, (entry) => {
        table.clear(entry.slot);
        entry.hasCounters = false;
      });
    },
    update(key) {
      if (!entries.has(key.accessKey)) return false;
      put(key, withCounters);
      return true;
    },
    reset(accessKey) {
      const entry = entries.get(accessKey);
      if (entry === undefined || !entry.hasCounters) return false;
      changing(entry, () => table.clear(entry.slot));
      return true;
    },
    remove(accessKey) {
      forget(accessKey);
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      drop(entry, false);
      return true;
    },
    setAside(accessKey) {
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      drop(entry, true);
      return true;
    },
    forget,
    replaceAll,
    setCounters(accessKey, values) {
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      const answered = answeredGeneration;
      changing(entry, () => {
        withCounters(entry);
        table.write(entry.slot, values);
      });
      answeredGeneration = answered;
      return true;
    },
    addUsage,
    takeOver,
    load,
    loadDropped,
    restore(all) {
      for (const entry of entries.values()) changing(entry, () => startAtZero(entry));
      for (const kept of all) takeOver(entries.has(kept.accessKey) ? kept : { ...kept, leftAt: kept.leftAt ?? now() });
    },
    forgetDeparted(leftUntil) {
      const old = [...leftTimes].filter(([, leftAt]) => leftAt <= leftUntil);
      for (const [accessKey] of old) forget(accessKey);
      return old.length;
    },
    kept: keptOf,
    allKept,
    takeUnlisted() {
      const isAny = unlisted > 0;
      unlisted = 0;
      return isAny;
    },
    takeChanged(visit) {
      const [taken, names] = [listed, changedNames];
      listed = [];
      changedNames = [];
      for (let from = 0; from < taken.length; from += AT_ONCE) {
        const some = taken.slice(from, from + AT_ONCE);
        fetch(some);
        for (const entry of some) {
          // What the store turned out to have has been struck off, and may have been listed again behind.
          if (!entry.isListed) continue;
          entry.isListed = false;
          const isKept = entry.alive && entry.hasCounters;
          visit(entry.accessKey, isKept ? keptAt(entry.accessKey, entry.slot, null) : keptOf(entry.accessKey));
        }
      }
      for (const accessKey of names) visit(accessKey, keptOf(accessKey));
    },
  };
}

function sameRecord(entry: KeyEntry, key: AccessKey): boolean {
  return entry.name === key.name && entry.limitBytes === key.limitBytes;
}
