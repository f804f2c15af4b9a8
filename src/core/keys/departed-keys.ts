import type { CounterTable } from './counter-table.js';
import type { KeptCounters } from './types.js';

/** Counters whose key is not registered: their rows wait for its return. */
export interface DepartedKeys {
  /** The key's row; undefined when nothing waits for it. */
  slotOf(accessKey: string): number | undefined;
  /** Returns the time at which the key left, in milliseconds since the epoch; null before a configuration has shown that it is not there. */
  leftAt(accessKey: string): number | null;
  /** Every key with its row. */
  slots(): Iterable<readonly [string, number]>;
  /** The row is the caller's again. */
  take(accessKey: string): number | undefined;
  /** A key that was registered left, and its row waits. */
  leave(accessKey: string, slot: number, leftAt: number): void;
  /** Keeps these counters of a key until it returns, instead of those before. */
  wait(kept: KeptCounters): void;
  /** Counts the keys that have no removal time. */
  waiting(): number;
  /** Stamps `now` on every key that has no removal time yet. */
  allLeft(now: number): void;
  /** Drops what waits for the key. */
  forget(accessKey: string): void;
  /** Drops what left at or before this time; returns how many. */
  forgetLeft(until: number): number;
}

/** `changed` is told of keys of which something else is to be kept than before. */
export function createDepartedKeys(table: CounterTable, changed: (accessKey: string) => void): DepartedKeys {
  const slots = new Map<string, number>();
  const times = new Map<string, number>();

  function forget(accessKey: string): void {
    const slot = slots.get(accessKey);
    if (slot === undefined) return;
    table.free(slot);
    slots.delete(accessKey);
    times.delete(accessKey);
    changed(accessKey);
  }

  return {
    slotOf: (accessKey) => slots.get(accessKey),
    leftAt: (accessKey) => times.get(accessKey) ?? null,
    slots: () => slots,
    take(accessKey) {
      const slot = slots.get(accessKey);
      if (slot === undefined) return undefined;
      slots.delete(accessKey);
      times.delete(accessKey);
      return slot;
    },
    leave(accessKey, slot, leftAt) {
      slots.set(accessKey, slot);
      times.set(accessKey, leftAt);
    },
    wait(kept) {
      const { accessKey, leftAt } = kept;
      const slot = slots.get(accessKey) ?? table.take();
      slots.set(accessKey, slot);
      if (leftAt === null) times.delete(accessKey);
      else times.set(accessKey, leftAt);
      table.writeKept(slot, kept);
    },
    waiting: () => slots.size - times.size,
    allLeft(now) {
      for (const accessKey of slots.keys()) {
        if (times.has(accessKey)) continue;
        times.set(accessKey, now);
        changed(accessKey);
      }
    },
    forget,
    forgetLeft(until) {
      const old = [...times].filter(([, leftAt]) => leftAt <= until);
      for (const [accessKey] of old) forget(accessKey);
      return old.length;
    },
  };
}
