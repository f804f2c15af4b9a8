import type { CounterTable } from './counter-table.js';
import { type Entry, fetchEntries } from './entry.js';
import type { KeptCounters } from './types.js';

export type ChangedKeys = ReturnType<typeof createChangedKeys>;

/** Entries that are fetched together: their rows and names stay near meanwhile. */
const AT_ONCE = 256;

/**
 * The keys whose kept counters differ from what a store has been told. Lists nothing unless it `tracks`. `keptOf` tells what
 * is to be kept of a key, by its name.
 */
export function createChangedKeys(
  tracks: boolean,
  table: CounterTable,
  keptOf: (accessKey: string) => KeptCounters | null,
) {
  /** An entry in hand saves looking its name up again. */
  let entries: Entry[] = [];
  let names: string[] = [];
  let leftOut = 0;
  let leftOutSince = 0;

  return {
    /** A registered key, or one that just was. */
    list(entry: Entry): void {
      if (!tracks || entry.isListed) return;
      entry.isListed = true;
      entries.push(entry);
    },
    /** A key whose counters waited, or wait. */
    listName(accessKey: string): void {
      if (tracks) names.push(accessKey);
    },
    /** The store has this entry as it is. */
    strike(entry: Entry): void {
      entry.isListed = false;
    },
    /** Hands out what is listed, as `CounterSource.takeChanged` says; the list is empty then. */
    take(visit: (accessKey: string, kept: KeptCounters | null) => void): void {
      const [taken, takenNames] = [entries, names];
      entries = [];
      names = [];
      for (let from = 0; from < taken.length; from += AT_ONCE) {
        const some = taken.slice(from, from + AT_ONCE);
        fetchEntries(some, table);
        for (const entry of some) {
          // Entries that the store turned out to have were struck off, and may have been listed again behind.
          if (!entry.isListed) continue;
          entry.isListed = false;
          const isKept = entry.alive && entry.hasCounters;
          visit(entry.accessKey, isKept ? table.kept(entry.slot, entry.accessKey, null) : keptOf(entry.accessKey));
        }
      }
      for (const accessKey of takenNames) visit(accessKey, keptOf(accessKey));
    },
    /** So many new keys, with counters since this time, are not listed: they are better written with everything else. */
    leaveOut(count: number, since: number): void {
      leftOut += count;
      leftOutSince = since;
    },
    /** The store has a key whose counters began at this time: it is none of those that were left out. */
    isKept(since: number): void {
      if (leftOut > 0 && since === leftOutSince) leftOut -= 1;
    },
    /** Tells whether any were left out since the last call. */
    takeLeftOut(): boolean {
      const isAny = leftOut > 0;
      leftOut = 0;
      return isAny;
    },
  };
}
