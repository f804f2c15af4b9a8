import type { CounterTable } from './counter-table.js';
import type { Entry } from './entry.js';
import type { KeyCounts } from './types.js';

/** The keeping of those counts: an entry leaves them before it changes, and enters them again after. */
export interface KeyCounting {
  readonly counts: KeyCounts;
  enter(entry: Entry): void;
  leave(entry: Entry): void;
}

export function createKeyCounting(table: CounterTable): KeyCounting {
  const counts = { active: 0, overLimit: 0, withCounters: 0, connected: 0 };

  function add(entry: Entry, one: 1 | -1): void {
    if (entry.overLimit) counts.overLimit += one;
    if (!entry.hasCounters) return;
    counts.withCounters += one;
    if (table.hasTraffic(entry.slot)) counts.active += one;
    if (table.hasConnections(entry.slot)) counts.connected += one;
  }

  return { counts, enter: (entry) => add(entry, 1), leave: (entry) => add(entry, -1) };
}
