import type { CounterTable } from './counter-table.js';
import type { KeptCounters } from './types.js';

/** Milliseconds for which counters of a key that left by the configuration wait for its return. */
export const KEPT_AFTER_REMOVAL = 30 * 86_400_000;
/** Keys whose counters wait at most: as many as a file that is emptied by mistake may have had. */
const MOST_REMOVED = 1_000_000;
/** The oldest, which go with one more. */
const DROPPED_AT_ONCE = 10_000;

/** Counters of keys that are not registered, whose rows wait for their return. */
export class RemovedKeys {
  readonly #table: CounterTable;
  readonly #changed: (accessKey: string) => void;
  readonly #most: number;
  readonly #slots = new Map<string, number>();
  readonly #times = new Map<string, number>();

  /** Makes an empty set; `changed` is called for keys whose kept counters change. */
  constructor(table: CounterTable, changed: (accessKey: string) => void, most = MOST_REMOVED) {
    this.#table = table;
    this.#changed = changed;
    this.#most = most;
  }

  /** Returns the key's row; undefined when nothing waits for it. */
  slotOf(accessKey: string): number | undefined {
    return this.#slots.get(accessKey);
  }

  /**
   * Returns when the key left, in milliseconds since the epoch; null until a configuration has shown that it is gone.
   */
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
    this.#stamp(accessKey, leftAt);
  }

  /** Keeps these counters of a key until it returns, instead of those before. */
  wait(kept: KeptCounters): void {
    const { accessKey, leftAt } = kept;
    const slot = this.#slots.get(accessKey) ?? this.#table.take();
    this.#slots.set(accessKey, slot);
    this.#table.writeKept(slot, kept);
    if (leftAt === null) this.#times.delete(accessKey);
    else this.#stamp(accessKey, leftAt);
  }

  /** Counts the keys that have no removal time. */
  unstamped(): number {
    return this.#slots.size - this.#times.size;
  }

  /** Stamps `now` on every key that has no removal time yet. */
  stampAll(now: number): void {
    for (const accessKey of this.#slots.keys()) {
      if (this.#times.has(accessKey)) continue;
      this.#stamp(accessKey, now);
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

  /** Notes when a key left, and drops the oldest of too many. */
  #stamp(accessKey: string, leftAt: number): void {
    this.#times.set(accessKey, leftAt);
    if (this.#times.size <= this.#most) return;
    let dropped = 0;
    for (const oldest of this.#times.keys()) {
      this.forget(oldest);
      dropped += 1;
      if (dropped === DROPPED_AT_ONCE) return;
    }
  }
}

/** Stamps `now` on the kept counters of a removed key that has no removal time yet. */
export function stampRemoved(kept: KeptCounters, now: number): KeptCounters {
  return { ...kept, leftAt: kept.leftAt ?? now };
}
