import { sameFields } from '../../core/keys/key-record.js';
import type { KeyRegistry } from '../../core/keys/registry.js';
import type { AccessKey, TrafficCounters } from '../../core/model.js';
import { pieces, type Steps } from '../../core/steps.js';
import type { Row } from './connection.js';
import { COLUMN_COUNT, recordIn } from './key-columns.js';

/** A key's row in the database. Numbers of writes stay below 2^53. */
export interface KeyRow extends AccessKey {
  readonly removed: boolean;
  /** The order of registration. */
  readonly position: number;
  readonly ordinal: number;
  /** The write that set its counters to zero, even if there are none yet. */
  readonly incarnation: number;
  /** Null for a key without counters. */
  readonly counters: CountersRow | null;
}

export interface CountersRow {
  readonly incarnation: number;
  /** The number of the last batch that counted. */
  readonly number: number;
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export type Replica = ReturnType<typeof createReplica>;

/** The bytes that a batch counted for one key. */
export interface UsedRow {
  readonly accessKey: string;
  readonly up: bigint;
  readonly down: bigint;
}

export interface ConnectionsRow {
  readonly accessKey: string;
  readonly incarnation: number;
  readonly connections: bigint;
}

/** Observes keys whose record or place in the order of registration changes, or that disappear. */
export interface KeyObserver {
  recordChanged(accessKey: string): void;
  placeChanged(accessKey: string): void;
  allChanged(): void;
}

/** Creates the copy in memory of the database's keys. A row replaces only an older one. */
export function createReplica(keys: KeyRegistry, observer: KeyObserver) {
  /** Facts by the slot of the registry's entry. */
  const known = createSlots();

  function drop(accessKey: string): void {
    keys.setAside(accessKey);
    keys.forget(accessKey);
    observer.placeChanged(accessKey);
  }

  /** Takes a row. `reloaded` has the connections of all keys, and makes older rows count, too. */
  function take(row: KeyRow, reloaded: ReadonlyMap<string, bigint> | null): void {
    const { accessKey, position, ordinal, counters } = row;
    const before = keys.get(accessKey);
    if (row.removed) {
      if (before !== undefined) drop(accessKey);
      return;
    }
    const isSame = before !== undefined && known.isAt(before.slot, position, ordinal);
    if (before !== undefined && !isSame && reloaded === null) drop(accessKey);
    const entry = keys.get(accessKey);
    if (entry === undefined || (counters === null && entry.counters !== null)) keys.createWithoutCounters(row);
    else if (!sameFields(entry, row)) putRecord(row, counters !== null);
    if (entry === undefined) observer.placeChanged(accessKey);
    else observer.recordChanged(accessKey);
    const { slot = -1, counters: present = null } = keys.get(accessKey) ?? {};
    if (entry === undefined) known.clear(slot);
    known.place(slot, position, ordinal);
    if (counters === null) {
      known.count(slot, { incarnation: row.incarnation, number: 0 });
      return;
    }
    if (present !== null && reloaded === null && !known.isOlder(slot, counters)) return;
    const areKept = known.incarnation(slot) === counters.incarnation;
    const connections = reloaded === null ? (areKept ? connectionsOf(present) : 0n) : (reloaded.get(accessKey) ?? 0n);
    keys.takeOver({ accessKey, ...counters, connections, leftAt: null });
    known.count(slot, counters);
  }

  function putRecord(record: AccessKey, hasCounters: boolean): void {
    if (hasCounters) keys.update(record);
    else keys.createWithoutCounters(record);
  }

  /**
   * Returns the keys that are as batch `number` found them, without those whose counters were set to zero after the
   * write `state`.
   */
  function countedOnto(used: readonly UsedRow[], number: number, state: number) {
    return used.flatMap((one) => {
      const entry = keys.get(one.accessKey);
      const isAsThen =
        entry !== undefined && known.incarnation(entry.slot) <= state && known.number(entry.slot) < number;
      return isAsThen ? [{ entry, usage: usageOf(one) }] : [];
    });
  }

  return {
    /** Takes changed keys, in the order of registration. */
    takeKeys(rows: readonly KeyRow[]): void {
      for (const row of rows) take(row, null);
    },
    takeCounters(rows: readonly (readonly [string, CountersRow])[]): void {
      for (const [accessKey, counters] of rows) {
        const entry = keys.get(accessKey);
        if (entry === undefined || !known.isOlder(entry.slot, counters)) continue;
        const connections = known.incarnation(entry.slot) === counters.incarnation ? connectionsOf(entry.counters) : 0n;
        keys.load({ accessKey, ...counters, connections, leftAt: null });
        known.count(entry.slot, counters);
      }
    },
    takeConnections(rows: readonly ConnectionsRow[]): void {
      for (const { accessKey, incarnation, connections } of rows) {
        const entry = keys.get(accessKey);
        const counters = entry?.counters ?? null;
        if (entry === undefined || counters === null || counters.connections === connections) continue;
        if (known.incarnation(entry.slot) === incarnation)
          keys.load({ accessKey, ...counters, connections, leftAt: null });
      }
    },
    /**
     * Adds what batch `number` counted to the values that it was counted onto. Returns false, having added nothing, if
     * one of the keys had no counters.
     */
    addUsage(used: readonly UsedRow[], number: number, state: number): boolean {
      const fresh = countedOnto(used, number, state);
      if (fresh.some(({ entry }) => entry.counters === null)) return false;
      keys.addUsage(fresh.map(({ usage }) => usage));
      for (const { entry } of fresh) known.count(entry.slot, { incarnation: known.incarnation(entry.slot), number });
      return true;
    },
    /** Adds what batch `number` counted if it could not be read back; the rows replace it once they are read. */
    addUnread(used: readonly UsedRow[], number: number, state: number): void {
      keys.addUsage(countedOnto(used, number, state).map(({ usage }) => usage));
    },
    /**
     * Replaces all keys, in the order of registration, and all connections, whatever was known before. A key that stays
     * is present throughout. Nothing else may be taken until it is done.
     */
    *replaceAll(rows: readonly KeyRow[], connected: readonly ConnectionsRow[]): Steps<void> {
      observer.allChanged();
      const told = new Map<string, bigint>();
      for (const some of pieces(connected)) {
        for (const { accessKey, connections } of some) told.set(accessKey, connections);
        yield;
      }
      const wanted = new Set<string>();
      for (const some of pieces(rows)) {
        for (const { accessKey } of some) wanted.add(accessKey);
        yield;
      }
      // Keys in the same order as before stay; from the first one in another place on, all are registered again.
      let place = 0;
      let isInOrder = true;
      for (const some of pieces(keys.entries())) {
        for (const { accessKey } of some) {
          isInOrder &&= !wanted.has(accessKey) || rows[place]?.accessKey === accessKey;
          if (!wanted.has(accessKey)) drop(accessKey);
          else if (isInOrder) place += 1;
        }
        yield;
      }
      let taken = 0;
      for (const some of pieces(rows)) {
        for (const row of some) {
          if (taken >= place && keys.get(row.accessKey) !== undefined) drop(row.accessKey);
          take(row, told);
          taken += 1;
        }
        yield;
      }
      observer.allChanged();
    },
    /** Returns the write that set the key's counters to zero; null for an unknown key. */
    incarnation(accessKey: string): number | null {
      const entry = keys.get(accessKey);
      return entry === undefined ? null : known.incarnation(entry.slot);
    },
    /** Returns the write that registered the key; 0 for an unknown key. */
    registeredAt(accessKey: string): number {
      const entry = keys.get(accessKey);
      return entry === undefined ? 0 : known.position(entry.slot);
    },
  };
}

function usageOf({ accessKey, up, down }: UsedRow) {
  return { accessKey, bytesUp: up, bytesDown: down, connections: null };
}

function connectionsOf(counters: TrafficCounters | null): bigint {
  return counters?.connections ?? 0n;
}

const ROW = 4;
const POSITION = 0;
const ORDINAL = 1;
const INCARNATION = 2;
const NUMBER = 3;

/** Stores facts of each key by slot; a million keys need no objects for them. */
function createSlots() {
  let rows = new Float64Array(64 * ROW);

  function rowOf(slot: number): number {
    const at = slot * ROW;
    if (at >= rows.length) {
      const wider = new Float64Array(Math.max(rows.length * 2, at + ROW));
      wider.set(rows);
      rows = wider;
    }
    return at;
  }

  return {
    isAt(slot: number, position: number, ordinal: number): boolean {
      const at = rowOf(slot);
      return rows[at + POSITION] === position && rows[at + ORDINAL] === ordinal;
    },
    place(slot: number, position: number, ordinal: number): void {
      const at = rowOf(slot);
      rows[at + POSITION] = position;
      rows[at + ORDINAL] = ordinal;
    },
    position: (slot: number): number => rows[rowOf(slot) + POSITION] ?? 0,
    incarnation: (slot: number): number => rows[rowOf(slot) + INCARNATION] ?? 0,
    number: (slot: number): number => rows[rowOf(slot) + NUMBER] ?? 0,
    isOlder(slot: number, { incarnation, number }: CountersRow): boolean {
      const at = rowOf(slot);
      const [present = 0, counted = 0] = [rows[at + INCARNATION], rows[at + NUMBER]];
      return incarnation > present || (incarnation === present && number > counted);
    },
    count(slot: number, { incarnation, number }: Pick<CountersRow, 'incarnation' | 'number'>): void {
      const at = rowOf(slot);
      rows[at + INCARNATION] = incarnation;
      rows[at + NUMBER] = number;
    },
    clear(slot: number): void {
      rows.fill(-1, rowOf(slot), rowOf(slot) + ROW);
    },
  };
}

export function readKeyRow(row: Row): KeyRow {
  const [accessKey, removed] = row;
  const [position, ordinal, incarnation, number, present, up, down, createdAt] = row.slice(2 + COLUMN_COUNT);
  return {
    ...recordIn(accessKey ?? '', row, 2),
    removed: removed === 't',
    position: Number(position),
    ordinal: Number(ordinal),
    incarnation: Number(incarnation),
    counters: present === 't' ? countersOf([incarnation, number, up, down, createdAt]) : null,
  };
}

export function readCountersRow([accessKey, ...counters]: Row): readonly [string, CountersRow] {
  return [accessKey ?? '', countersOf(counters)];
}

function countersOf([incarnation, number, up, down, createdAt]: readonly (string | null | undefined)[]): CountersRow {
  return {
    incarnation: Number(incarnation),
    number: Number(number),
    bytesUp: BigInt(up ?? 0),
    bytesDown: BigInt(down ?? 0),
    createdAt: Number(createdAt),
  };
}

export function readConnectionsRow([accessKey, incarnation, connections]: Row): ConnectionsRow {
  return { accessKey: accessKey ?? '', incarnation: Number(incarnation), connections: BigInt(connections ?? 0) };
}
