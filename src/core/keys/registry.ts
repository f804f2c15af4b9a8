import type { AccessKey } from '../model.js';
import { createAdmissionLog } from './admission-log.js';
import { createChangedKeys } from './changed-keys.js';
import { createCounterTable } from './counter-table.js';
import { createKeyCounting } from './counts.js';
import { createDepartedKeys } from './departed-keys.js';
import { Entry, fetchEntries } from './entry.js';
import { createOrderedKeys } from './order.js';
import type { CounterSource, KeptCounters, KeyEntry, KeyRegistry, UsageEntry, UsageOutcome } from './types.js';

export interface KeyRegistryOptions {
  /** Whether changed counters are remembered for `takeChanged`; default false. */
  readonly tracksChanges?: boolean;
}

/** New keys of one configuration, all at zero, that are not worth a batch of their own. */
const MANY_NEW = 10_000;

/** Where a change of an entry comes from, which decides who hears of it. */
interface Origin {
  /** Readers of answers: it is no change by the data plane, nor what a store had all the time. */
  readonly isAnswered: boolean;
  /** The store: it does not have this yet. */
  readonly isUnkept: boolean;
}

const ASKED_FOR: Origin = { isAnswered: true, isUnkept: true };
/** A key that comes with counters as they are kept, or among so many that all is written anew. */
const KEPT_ALREADY: Origin = { isAnswered: true, isUnkept: false };
const COUNTED: Origin = { isAnswered: false, isUnkept: true };
const LOADED: Origin = { isAnswered: false, isUnkept: false };

/** Creates an empty registry. `now` gives milliseconds since the epoch, for `createdAt` and `leftAt`. */
export function createKeyRegistry(now: () => number, { tracksChanges = false }: KeyRegistryOptions = {}): KeyRegistry {
  const entries = new Map<string, Entry>();
  const table = createCounterTable();
  const counting = createKeyCounting(table);
  const order = createOrderedKeys(table.compareBytesDown);
  const admissions = createAdmissionLog();
  const changed = createChangedKeys(tracksChanges, table, kept);
  const departed = createDepartedKeys(table, changed.listName);
  /** What the entries are as they stand, each with counters; null when something else has happened to them. */
  let asConfigured: readonly AccessKey[] | null = null;
  let nextOrder = 0;
  let generation = 0;
  let answeredGeneration = 0;

  /**
   * The one door for a change of a registered key's counters or record: what it means for the counts, for admission, for
   * the order and for the store follows here.
   */
  function change(entry: Entry, origin: Origin, act: () => void): void {
    generation += 1;
    const { limitBytes, overLimit } = entry;
    counting.leave(entry);
    act();
    hasChanged(entry, origin, limitBytes, overLimit);
  }

  /** The second half of that door, for who has gone through the first by himself: a report is one generation. */
  function hasChanged(entry: Entry, origin: Origin, limitBefore: bigint | null, overBefore: boolean): void {
    entry.overLimit = isOver(entry);
    counting.enter(entry);
    if (limitBefore !== entry.limitBytes || overBefore !== entry.overLimit) admissions.note(entry.accessKey);
    mark(entry, origin);
  }

  /** To be called for the generation that the change made. */
  function mark(entry: Entry, origin: Origin): void {
    if (origin.isAnswered) {
      asConfigured = null;
      answeredGeneration = generation;
    }
    order.touch(entry);
    entry.changedAt = generation;
    if (origin.isUnkept) changed.list(entry);
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

  function withCounters(entry: Entry): void {
    if (!entry.hasCounters) startAtZero(entry);
  }

  /** Counters that wait for the key come with it; whoever does not want them forgets them before. */
  function register(key: AccessKey, act: (entry: Entry) => void, origin: Origin): void {
    const { accessKey } = key;
    generation += 1;
    // At a start a million keys find their counters as they are kept: no reason to write them all again.
    const isAsKept = departed.leftAt(accessKey) === null;
    const waiting = departed.take(accessKey);
    const entry = new Entry(key, nextOrder++, waiting ?? table.take(), table);
    entry.hasCounters = waiting !== undefined;
    entries.set(accessKey, entry);
    act(entry);
    entry.overLimit = isOver(entry);
    counting.enter(entry);
    admissions.note(accessKey);
    mark(entry, waiting !== undefined && isAsKept ? KEPT_ALREADY : origin);
  }

  /** Its counters wait for its return. */
  function setAside(entry: Entry): void {
    generation += 1;
    counting.leave(entry);
    entries.delete(entry.accessKey);
    mark(entry, ASKED_FOR);
    entry.alive = false;
    admissions.note(entry.accessKey);
    if (entry.hasCounters) departed.leave(entry.accessKey, entry.slot, now());
    else table.free(entry.slot);
    entry.hasCounters = false;
  }

  function put(key: AccessKey, act: (entry: Entry) => void, origin = ASKED_FOR): void {
    const entry = entries.get(key.accessKey);
    if (entry === undefined) {
      register(key, act, origin);
      return;
    }
    change(entry, ASKED_FOR, () => {
      entry.name = key.name;
      entry.limitBytes = key.limitBytes;
      act(entry);
    });
  }

  function replaceAll(keys: readonly AccessKey[]): void {
    if (keys !== asConfigured) {
      dropAllBut(keys);
      registerAll(keys);
      asConfigured = keys;
    }
    departed.allLeft(now());
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
    const isMany = keys.length - before >= MANY_NEW;
    for (const key of keys) {
      const present = entries.get(key.accessKey);
      if (present?.hasCounters && sameRecord(present, key)) continue;
      put(key, withCountersSince, isMany ? KEPT_ALREADY : ASKED_FOR);
    }
    if (isMany) changed.leaveOut(entries.size - before, at);
  }

  function addUsage(report: readonly UsageEntry[]): UsageOutcome {
    const unknown: string[] = [];
    const full: string[] = [];
    generation += 1;
    const found = report.map(({ accessKey }) => entries.get(accessKey));
    fetchEntries(found, table);
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
      hasChanged(entry, COUNTED, entry.limitBytes, entry.overLimit);
    }
    return { unknown, full };
  }

  function takeOver(counters: KeptCounters): void {
    const entry = entries.get(counters.accessKey);
    if (entry === undefined) {
      departed.wait(counters);
      changed.listName(counters.accessKey);
    } else change(entry, ASKED_FOR, () => become(entry, counters));
  }

  function load(counters: KeptCounters): void {
    const entry = entries.get(counters.accessKey);
    if (entry === undefined) {
      departed.wait(counters);
      return;
    }
    changed.isKept(table.createdAt(entry.slot));
    change(entry, LOADED, () => become(entry, counters));
    changed.strike(entry);
    if (counters.leftAt !== null) changed.list(entry);
  }

  function become(entry: Entry, counters: KeptCounters): void {
    table.writeKept(entry.slot, counters);
    entry.hasCounters = true;
  }

  function loadDropped(accessKey: string): void {
    departed.forget(accessKey);
    const entry = entries.get(accessKey);
    if (entry === undefined) return;
    change(entry, LOADED, () => startAtZero(entry));
    changed.list(entry);
  }

  function kept(accessKey: string): KeptCounters | null {
    const entry = entries.get(accessKey);
    if (entry !== undefined) return entry.hasCounters ? table.kept(entry.slot, accessKey, null) : null;
    const slot = departed.slotOf(accessKey);
    return slot === undefined ? null : table.kept(slot, accessKey, departed.leftAt(accessKey));
  }

  function* allKept(): Generator<KeptCounters> {
    for (const { accessKey, hasCounters, slot } of entries.values()) {
      if (hasCounters) yield table.kept(slot, accessKey, null);
    }
    for (const [accessKey, slot] of departed.slots()) yield table.kept(slot, accessKey, departed.leftAt(accessKey));
  }

  const source: CounterSource = { kept, allKept, takeUnlisted: changed.takeLeftOut, takeChanged: changed.take };

  return {
    ...source,
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
    get missing() {
      return departed.waiting();
    },
    create(key) {
      departed.forget(key.accessKey);
      put(key, startAtZero);
    },
    createWithoutCounters(key) {
      departed.forget(key.accessKey);
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
      change(entry, ASKED_FOR, () => table.clear(entry.slot));
      return true;
    },
    setAside(accessKey) {
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      setAside(entry);
      return true;
    },
    forget: departed.forget,
    replaceAll,
    setCounters(accessKey, values) {
      const entry = entries.get(accessKey);
      if (entry === undefined) return false;
      change(entry, COUNTED, () => {
        withCounters(entry);
        table.write(entry.slot, values);
      });
      return true;
    },
    addUsage,
    takeOver,
    load,
    loadDropped,
    restore(all) {
      for (const entry of entries.values()) change(entry, ASKED_FOR, () => startAtZero(entry));
      for (const one of all) takeOver(entries.has(one.accessKey) ? one : { ...one, leftAt: one.leftAt ?? now() });
    },
    forgetDeparted: departed.forgetLeft,
  };
}

function sameRecord(entry: KeyEntry, key: AccessKey): boolean {
  return entry.name === key.name && entry.limitBytes === key.limitBytes;
}
