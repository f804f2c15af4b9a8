import type { AccessKey } from '../model.js';
import { createChangeLog, type KeyChange } from './change-log.js';
import { ChangedKeys } from './changed-keys.js';
import { atMostU64, createCounterTable } from './counter-table.js';
import { Entry } from './entry.js';
import type { KeyFieldValues } from './key-fields.js';
import { assignFields, copyOf, sameFields } from './key-record.js';
import { createOrderedKeys } from './order.js';
import { RemovedKeys, stampRemoved } from './removed-keys.js';
import type {
  CounterSource,
  CounterValues,
  KeptCounters,
  KeyEntry,
  KeyReader,
  UsageEntry,
  UsageOutcome,
} from './types.js';

export interface KeyRegistryOptions {
  /** Remembers changed counters for `takeChanged`; default false. */
  readonly tracksChanges?: boolean;
}

/** The most new keys of one configuration, all at zero, that are listed one by one. */
const MANY_NEW = 10_000;

/** The source of a change, which decides who learns of it. */
interface Origin {
  /** True if answers may show it: it comes neither from the data plane nor from a store. */
  readonly isAnswered: boolean;
  /** True if the store does not have it yet. */
  readonly isUnkept: boolean;
  /** Its name in the change log; default `changed`. */
  readonly change?: KeyChange;
  /** The record that is overwritten. */
  readonly before?: KeyFieldValues;
}

const ASKED_FOR: Origin = { isAnswered: true, isUnkept: true };
const RESET: Origin = { ...ASKED_FOR, change: 'reset' };
/** A key that comes with counters as they are stored, or in a load after which all of them are rewritten. */
const KEPT_ALREADY: Origin = { isAnswered: true, isUnkept: false };
const COUNTED: Origin = { isAnswered: false, isUnkept: true };
const LOADED: Origin = { isAnswered: false, isUnkept: false };

/** The set of access keys with their counters (protocol: "Access key lifecycle"). */
export class KeyRegistry implements KeyReader, CounterSource {
  readonly admissions = createChangeLog();
  readonly changes = createChangeLog();
  readonly counts = { active: 0, overLimit: 0, withCounters: 0, connected: 0 };
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #table = createCounterTable();
  readonly #order = createOrderedKeys(this.#table.compareBytesDown);
  readonly #changed: ChangedKeys;
  readonly #removed: RemovedKeys;
  /**
   * The keys of the last configuration, as long as the entries are exactly these, each with counters; otherwise null.
   */
  #asConfigured: readonly AccessKey[] | null = null;
  #nextOrder = 0;
  #generation = 0;
  #answeredGeneration = 0;

  /** Begins empty. `now` gives milliseconds since the epoch, for `createdAt` and `leftAt`. */
  constructor(now: () => number, { tracksChanges = false }: KeyRegistryOptions = {}) {
    this.#now = now;
    this.#changed = new ChangedKeys(tracksChanges, (accessKey) => this.kept(accessKey));
    this.#removed = new RemovedKeys(this.#table, (accessKey) => this.#changed.list(accessKey));
  }

  get size(): number {
    return this.#entries.size;
  }

  sums(): CounterValues {
    const { bytesUp, bytesDown, connections } = this.#table.sums();
    return { bytesUp: atMostU64(bytesUp), bytesDown: atMostU64(bytesDown), connections: atMostU64(connections) };
  }

  get active(): number {
    return this.counts.active;
  }

  get generation(): number {
    return this.#generation;
  }

  get answeredGeneration(): number {
    return this.#answeredGeneration;
  }

  /**
   * The number of keys that were registered when their counters were kept, and have not come with a configuration
   * since.
   */
  get missing(): number {
    return this.#removed.unstamped();
  }

  get(accessKey: string): KeyEntry | undefined {
    return this.#entries.get(accessKey);
  }

  entries(): Iterable<KeyEntry> {
    return this.#entries.values();
  }

  ordered(): readonly KeyEntry[] {
    return this.#order.read(this.#entries, this.#generation);
  }

  markChanged(accessKey: string, change: 'noted' | 'owned'): void {
    if (this.#entries.has(accessKey)) this.changes.note(accessKey, change);
  }

  /** Registers with counters at zero, replacing record and counters of an existing key, which keeps its place. */
  create(key: AccessKey): void {
    this.#removed.forget(key.accessKey);
    this.#put(key, (entry) => this.#startAtZero(entry));
  }

  /** Registers without counters (bulk creation). */
  createWithoutCounters(key: AccessKey): void {
    this.#removed.forget(key.accessKey);
    this.#put(key, (entry) => {
      this.#table.clear(entry.slot);
      entry.hasCounters = false;
    });
  }

  /** Overwrites name and limit, counters kept, created where absent; false when the key is unknown. */
  update(key: AccessKey): boolean {
    if (!this.#entries.has(key.accessKey)) return false;
    this.#put(key, (entry) => this.#giveCounters(entry));
    return true;
  }

  /** Sets traffic to zero, limit kept; false when the key is unknown or has no counters. */
  reset(accessKey: string): boolean {
    const entry = this.#entries.get(accessKey);
    if (entry === undefined || !entry.hasCounters) return false;
    this.#change(entry, RESET, () => this.#table.clear(entry.slot));
    return true;
  }

  /** Drops the record; the counters wait as if the key had left by the configuration. False when the key is unknown. */
  setAside(accessKey: string): boolean {
    const entry = this.#entries.get(accessKey);
    if (entry === undefined) return false;
    this.#setAside(entry);
    return true;
  }

  /** Drops counters that wait for their key. */
  forget(accessKey: string): void {
    this.#removed.forget(accessKey);
  }

  /** Drops the counters of keys that left at or before this time; returns how many. */
  forgetRemoved(leftUntil: number): number {
    return this.#removed.forgetLeft(leftUntil);
  }

  /**
   * Takes over the keys of a configuration: counters of those that stay are kept, of those that go set aside until they
   * return.
   */
  replaceAll(keys: readonly AccessKey[]): void {
    if (keys !== this.#asConfigured) {
      this.#dropAllBut(keys);
      this.#registerAll(keys);
      this.#asConfigured = keys;
    }
    this.#removed.stampAll(this.#now());
  }

  /** Sets what the data plane reports as present values of one key; false when the key is unknown. */
  setCounters(accessKey: string, values: CounterValues): boolean {
    const entry = this.#entries.get(accessKey);
    if (entry === undefined) return false;
    this.#change(entry, COUNTED, () => {
      this.#giveCounters(entry);
      this.#table.write(entry.slot, values);
    });
    return true;
  }

  /** Counts a report as a whole, so that no reader sees part of it. */
  addUsage(report: readonly UsageEntry[]): UsageOutcome {
    const unknown: string[] = [];
    const full: string[] = [];
    this.#generation += 1;
    for (const { accessKey, bytesUp, bytesDown, connections } of report) {
      const entry = this.#entries.get(accessKey);
      if (entry === undefined) {
        unknown.push(accessKey);
        continue;
      }
      this.#count(entry, -1);
      this.#giveCounters(entry);
      const { slot } = entry;
      if (this.#table.add(slot, bytesUp, bytesDown)) full.push(accessKey);
      if (connections !== null) this.#table.setConnections(slot, connections);
      this.#noteChange(entry, COUNTED, entry.limitBytes, entry.overLimit);
    }
    return { unknown, full };
  }

  /**
   * Takes over the counters of one key as they were kept; while the key is not registered they wait for it. One without
   * a time of leaving that the next configuration does not have leaves with that.
   */
  takeOver(counters: KeptCounters): void {
    const entry = this.#entries.get(counters.accessKey);
    if (entry === undefined) {
      this.#removed.wait(counters);
      this.#changed.list(counters.accessKey);
    } else this.#change(entry, ASKED_FOR, () => this.#become(entry, counters));
  }

  /** Does as `takeOver` for counters that the store has already: no change, unless the key has come back meanwhile. */
  load(counters: KeptCounters): void {
    const entry = this.#entries.get(counters.accessKey);
    if (entry === undefined) {
      this.#removed.wait(counters);
      return;
    }
    this.#changed.isKept(this.#table.createdAt(entry.slot));
    this.#change(entry, LOADED, () => this.#become(entry, counters));
    this.#changed.strike(entry.accessKey);
    if (counters.leftAt !== null) this.#changed.list(entry.accessKey);
  }

  /** The store has dropped the counters that it had of this key: a registered one starts at zero. */
  loadDropped(accessKey: string): void {
    this.#removed.forget(accessKey);
    const entry = this.#entries.get(accessKey);
    if (entry === undefined) return;
    this.#change(entry, LOADED, () => this.#startAtZero(entry));
    this.#changed.list(entry.accessKey);
  }

  /** Sets every registered key to what was kept, or to zero; what else was kept waits for its key. */
  restore(all: Iterable<KeptCounters>): void {
    for (const entry of this.#entries.values()) this.#change(entry, ASKED_FOR, () => this.#startAtZero(entry));
    for (const one of all) {
      this.takeOver(this.#entries.has(one.accessKey) ? one : stampRemoved(one, this.#now()));
    }
  }

  kept(accessKey: string): KeptCounters | null {
    const entry = this.#entries.get(accessKey);
    if (entry !== undefined) return entry.hasCounters ? this.#table.kept(entry.slot, accessKey, null) : null;
    const slot = this.#removed.slotOf(accessKey);
    return slot === undefined ? null : this.#table.kept(slot, accessKey, this.#removed.leftAt(accessKey));
  }

  *allKept(): Generator<KeptCounters> {
    for (const { accessKey, hasCounters, slot } of this.#entries.values()) {
      if (hasCounters) yield this.#table.kept(slot, accessKey, null);
    }
    for (const [accessKey, slot] of this.#removed.slots()) {
      yield this.#table.kept(slot, accessKey, this.#removed.leftAt(accessKey));
    }
  }

  takeChanged(visit: (accessKey: string, kept: KeptCounters | null) => void): void {
    this.#changed.take(visit);
  }

  takeUnlisted(): boolean {
    return this.#changed.takeLeftOut();
  }

  /**
   * Changes a registered key's counters or record, and with it the counts, admission, the order and what a store is
   * told.
   */
  #change(entry: Entry, origin: Origin, act: () => void): void {
    this.#generation += 1;
    const { limitBytes, overLimit } = entry;
    this.#count(entry, -1);
    act();
    this.#noteChange(entry, origin, limitBytes, overLimit);
  }

  /** Takes an entry out of the counts before it changes (-1), and adds it again after (1). */
  #count(entry: Entry, one: 1 | -1): void {
    const { counts } = this;
    if (entry.overLimit) counts.overLimit += one;
    if (!entry.hasCounters) return;
    counts.withCounters += one;
    if (this.#table.hasTraffic(entry.slot)) counts.active += one;
    if (this.#table.hasConnections(entry.slot)) counts.connected += one;
  }

  /** Does the bookkeeping after a change. `addUsage` calls it directly, because one report counts as one generation. */
  #noteChange(entry: Entry, origin: Origin, limitBefore: bigint | null, overBefore: boolean): void {
    entry.overLimit = this.#isOver(entry);
    this.#count(entry, 1);
    const { accessKey, overLimit, limitBytes } = entry;
    if (limitBefore !== limitBytes || overBefore !== overLimit) this.admissions.note(accessKey, 'changed');
    if (origin.isAnswered) this.changes.note(accessKey, origin.change ?? 'changed', origin.before);
    if (overBefore !== overLimit) this.changes.note(accessKey, overLimit ? 'over_limit' : 'changed');
    this.#mark(entry, origin);
  }

  /** Stamps the entry with the present generation, which the caller has raised. */
  #mark(entry: Entry, origin: Origin): void {
    if (origin.isAnswered) {
      this.#asConfigured = null;
      this.#answeredGeneration = this.#generation;
    }
    this.#order.touch(entry);
    entry.changedAt = this.#generation;
    if (origin.isUnkept) this.#changed.list(entry.accessKey);
  }

  /**
   * Tells whether the traffic has reached the limit, without making bigint sums for the many keys that have no traffic.
   */
  #isOver({ limitBytes, slot }: Entry): boolean {
    if (limitBytes === null) return false;
    return this.#table.hasTraffic(slot) ? this.#table.traffic(slot) >= limitBytes : limitBytes === 0n;
  }

  #startAtZero(entry: Entry, at = this.#now()): void {
    this.#table.clear(entry.slot);
    this.#table.setCreatedAt(entry.slot, at);
    entry.hasCounters = true;
  }

  #giveCounters(entry: Entry): void {
    if (!entry.hasCounters) this.#startAtZero(entry);
  }

  #become(entry: Entry, counters: KeptCounters): void {
    this.#table.writeKept(entry.slot, counters);
    entry.hasCounters = true;
  }

  #put(key: AccessKey, act: (entry: Entry) => void, origin = ASKED_FOR): void {
    const entry = this.#entries.get(key.accessKey);
    if (entry === undefined) {
      this.#register(key, act, origin);
      return;
    }
    this.#change(entry, { ...ASKED_FOR, before: copyOf(entry) }, () => {
      assignFields(entry, key);
      act(entry);
    });
  }

  /** Registers a key together with counters that wait for it; a caller that does not want those forgets them before. */
  #register(key: AccessKey, act: (entry: Entry) => void, origin: Origin): void {
    const { accessKey } = key;
    this.#generation += 1;
    // At a start a million keys come with the counters that the store has, which need no rewrite.
    const isAsKept = this.#removed.leftAt(accessKey) === null;
    const waiting = this.#removed.take(accessKey);
    const entry = new Entry(key, this.#nextOrder, waiting ?? this.#table.take(), this.#table);
    this.#nextOrder += 1;
    entry.hasCounters = waiting !== undefined;
    this.#entries.set(accessKey, entry);
    act(entry);
    entry.overLimit = this.#isOver(entry);
    this.#count(entry, 1);
    this.admissions.note(accessKey, 'created');
    this.changes.note(accessKey, 'created');
    this.#mark(entry, waiting !== undefined && isAsKept ? KEPT_ALREADY : origin);
  }

  /** Removes a key and keeps its counters for its return. */
  #setAside(entry: Entry): void {
    this.#generation += 1;
    this.#count(entry, -1);
    this.#entries.delete(entry.accessKey);
    this.#mark(entry, ASKED_FOR);
    entry.alive = false;
    this.admissions.note(entry.accessKey, 'removed');
    this.changes.note(entry.accessKey, 'removed', copyOf(entry));
    if (entry.hasCounters) this.#removed.leave(entry.accessKey, entry.slot, this.#now());
    else this.#table.free(entry.slot);
    entry.hasCounters = false;
  }

  #dropAllBut(keys: readonly AccessKey[]): void {
    if (this.#entries.size === 0) return;
    const staying = new Set(keys.map((key) => key.accessKey));
    for (const entry of this.#entries.values()) if (!staying.has(entry.accessKey)) this.#setAside(entry);
  }

  #registerAll(keys: readonly AccessKey[]): void {
    const before = this.#entries.size;
    const at = this.#now();
    const withCountersSince = (entry: Entry): void => {
      if (!entry.hasCounters) this.#startAtZero(entry, at);
    };
    const isMany = keys.length - before >= MANY_NEW;
    for (const key of keys) {
      const present = this.#entries.get(key.accessKey);
      if (present?.hasCounters && sameFields(present, key)) continue;
      this.#put(key, withCountersSince, isMany ? KEPT_ALREADY : ASKED_FOR);
    }
    if (isMany) this.#changed.leaveOut(this.#entries.size - before, at);
  }
}
