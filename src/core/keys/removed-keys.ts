import type { CounterTable } from './counter-table.js';
import type { KeptCounters } from './types.js';

/** Milliseconds for which counters of a key that left by the configuration wait for its return. */
export const KEPT_AFTER_REMOVAL = 30 * 86_400_000;

/** Counters whose key is not registered: their rows wait for its return. */
export class RemovedKeys {
  readonly #table: CounterTable;
  readonly #changed: (accessKey: string) => void;
  readonly #slots = new Map<string, number>();
  readonly #times = new Map<string, number>();

  /** `changed` is told of keys whose kept counters become others. */
  constructor(table: CounterTable, changed: (accessKey: string) => void) {
    this.#table = table;
    this.#changed = changed;
  }

  /** Returns the key's row; undefined when nothing waits for it. */
  slotOf(accessKey: string): number | undefined {
    return this.#slots.get(accessKey);
  }

  /** Returns the time at which the key left, in milliseconds since the epoch; null before a configuration has shown that it is not there. */
  leftAt(accessKey: string): number | null {
    return this.#times.get(accessKey) ?? null;
  }

  /** Lists every key with its row. */
  slots(): Iterable<readonly [string, number]> {
    return this.#slots;
  }

  /** Gives the row back to the caller. */
  take(accessKey: string): number | undefined {
    const slot = this.#slots.get(accessKey);
    this.#slots.delete(accessKey);
    this.#times.delete(accessKey);
    return slot;
  }

  /** Keeps the row of a key that was registered until now. */
  leave(accessKey: string, slot: number, leftAt: number): void {
    this.#slots.set(accessKey, slot);
    this.#times.set(accessKey, leftAt);
  }

  /** Keeps these counters of a key until it returns, instead of those before. */
  wait(kept: KeptCounters): void {
    const { accessKey, leftAt } = kept;
    const slot = this.#slots.get(accessKey) ?? this.#table.take();
    this.#slots.set(accessKey, slot);
    if (leftAt === null) this.#times.delete(accessKey);
    else this.#times.set(accessKey, leftAt);
    this.#table.writeKept(slot, kept);
  }

  /** Counts the keys that have no removal time. */
  unstamped(): number {
    return this.#slots.size - this.#times.size;
  }

  /** Stamps `now` on every key that has no removal time yet. */
  stampAll(now: number): void {
    for (const accessKey of this.#slots.keys()) {
      if (this.#times.has(accessKey)) continue;
      this.#times.set(accessKey, now);
      this.#changed(accessKey);
    }
  }

  /** Drops the counters of a key. */
  forget(accessKey: string): void {
    const slot = this.take(accessKey);
    if (slot === undefined) return;
    this.#table.free(slot);
    this.#changed(accessKey);
  }

  /** Drops counters of keys that left at or before this time; returns how many. */
  forgetLeft(until: number): number {
    const old = [...this.#times].filter(([, leftAt]) => leftAt <= until);
    for (const [accessKey] of old) this.forget(accessKey);
    return old.length;
  }
}

/** Stamps `now` on the kept counters of a removed key that has no removal time yet. */
export function stampRemoved(kept: KeptCounters, now: number): KeptCounters {
  return { ...kept, leftAt: kept.leftAt ?? now };
}
