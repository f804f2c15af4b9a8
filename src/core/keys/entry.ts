import type { AccessKey, TrafficCounters } from '../model.js';
import type { CounterTable } from './counter-table.js';
import { assignFields } from './key-record.js';
import type { KeyEntry } from './types.js';

/**
 * One registered key. Its counters stand in the table and are read by a getter of the prototype, so that a million keys keep no
 * objects for them.
 */
export class Entry implements KeyEntry {
  // Fields that counting a report reads come first, and so stand in one piece of memory.
  readonly slot: number;
  changedAt = 0;
  overLimit = false;
  hasCounters = false;
  readonly accessKey: string;
  limitBytes: bigint | null = null;
  name: string | null = null;
  readonly order: number;
  alive = true;
  readonly #table: CounterTable;

  constructor(key: AccessKey, order: number, slot: number, table: CounterTable) {
    this.slot = slot;
    this.accessKey = key.accessKey;
    assignFields(this, key);
    this.order = order;
    this.#table = table;
  }

  get counters(): TrafficCounters | null {
    if (!this.hasCounters) return null;
    const { bytesUp, bytesDown, connections } = this.#table.read(this.slot);
    return {
      bytesUp,
      bytesDown,
      connections,
      limitBytes: this.limitBytes,
      createdAt: this.#table.createdAt(this.slot),
    };
  }
}
