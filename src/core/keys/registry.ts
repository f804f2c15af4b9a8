import type { AccessKey } from '../model.js';
import { createAdmissionLog } from './admission-log.js';
import { createCounterTable } from './counter-table.js';
import { createKeyCounting } from './counts.js';
import { Entry } from './entry.js';
import { createOrderedKeys, type OrderedKeys } from './order.js';
import type { KeptCounters, KeyEntry, KeyRegistry, UsageEntry, UsageOutcome } from './types.js';

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

  /** Its counters wait for its return. */
  function setAside(entry: Entry): void {
    counting.leave(entry);
    entries.delete(entry.accessKey);
    touch(entry);
    entry.alive = false;
    admissions.note(entry.accessKey);
    if (entry.hasCounters) {
      departed.set(entry.accessKey, entry.slot);
      leftTimes.set(entry.accessKey, now());
    } else table.free(entry.slot);
    entry.hasCounters = false;
  }

  function dropAllBut(keys: readonly AccessKey[]): void {
    if (entries.size === 0) return;
    const staying = new Set(keys.map((key) => key.accessKey));
    for (const entry of entries.values()) if (!staying.has(entry.accessKey)) setAside(entry);
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
    setAside(accessKey) {
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      setAside(entry);
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
