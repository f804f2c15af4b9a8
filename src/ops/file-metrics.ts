import type { Family } from './family.js';

/** Figures of a store of counters; counts are since the start. */
export interface StoreFigures {
  readonly batches: number;
  readonly batchBytes: number;
  readonly batchMilliseconds: number;
  readonly failedBatches: number;
}

/** Changes that a configuration file has not taken yet. */
export function pendingFamily(configuration: () => { readonly pendingChanges: number }): Family {
  return {
    name: 'keyway_config_pending_changes',
    help: 'Keys, rule lists and DNS settings that are changed in memory and not in the configuration file.',
    type: 'gauge',
    read: () => configuration().pendingChanges,
  };
}

/** Writes of counters. */
export function storeFamilies(counters: () => StoreFigures): readonly Family[] {
  return [
    {
      name: 'keyway_counters_batches_total',
      help: 'Batches of counters that were to be written to the data folder.',
      type: 'counter',
      labelNames: ['outcome'],
      read: () => [
        { labels: { outcome: 'written' }, value: counters().batches },
        { labels: { outcome: 'failed' }, value: counters().failedBatches },
      ],
    },
    {
      name: 'keyway_counters_written_bytes_total',
      help: 'Bytes of the batches of counters that were written.',
      type: 'counter',
      read: () => counters().batchBytes,
    },
    {
      name: 'keyway_counters_write_seconds_total',
      help: 'Time that writing those batches took.',
      type: 'counter',
      read: () => counters().batchMilliseconds / 1000,
    },
  ];
}
