import type { KeyEntry } from './types.js';

/** Entries touched since the last read from which on those of removed keys among them are dropped. */
const MANY_TOUCHED = 1_024;

/**
 * The keys by bytes down, descending, equal ones in the order of registration (protocol: "Users"; design: "Equal
 * bytes_down"). Kept sorted between reads: only entries touched since the last read are moved, because sorting 100,000
 * entries per list costs more than everything else about it. `compareBytesDown` compares two slots: negative when the
 * first has fewer bytes down.
 */
export function createOrderedKeys(compareBytesDown: (a: number, b: number) => number) {
  let sorted: readonly KeyEntry[] = [];
  let sortedAt = 0;
  let touched: KeyEntry[] = [];
  let mostTouched = MANY_TOUCHED;

  const before = (a: KeyEntry, b: KeyEntry): number => compareBytesDown(b.slot, a.slot) || a.order - b.order;

  function merge(moved: readonly KeyEntry[]): KeyEntry[] {
    const result: KeyEntry[] = [];
    let at = 0;
    let next = moved[at];
    for (const entry of sorted) {
      if (!entry.alive || entry.changedAt > sortedAt) continue;
      while (next !== undefined && before(next, entry) < 0) {
        result.push(next);
        at += 1;
        next = moved[at];
      }
      result.push(entry);
    }
    for (; next !== undefined; next = moved[at]) {
      result.push(next);
      at += 1;
    }
    return result;
  }

  return {
    /** Notes an entry, before its `changedAt` is raised. */
    touch(entry: KeyEntry): void {
      if (entry.changedAt > sortedAt) return;
      touched.push(entry);
      if (touched.length < mostTouched) return;
      // Nobody may read for as long as keys come and go.
      touched = touched.filter(({ alive }) => alive);
      mostTouched = Math.max(MANY_TOUCHED, 2 * touched.length);
    },
    /** Returns the present order, which the caller may read until the next change. */
    read(entries: ReadonlyMap<string, KeyEntry>, generation: number): readonly KeyEntry[] {
      if (generation === sortedAt) return sorted;
      const moved = touched.filter((entry) => entry.alive);
      const worthMerging = moved.length * 4 < entries.size;
      sorted = worthMerging ? merge(moved.sort(before)) : [...entries.values()].sort(before);
      sortedAt = generation;
      touched = [];
      mostTouched = MANY_TOUCHED;
      return sorted;
    },
  };
}
