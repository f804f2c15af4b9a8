import { counter, type Family, gauge } from './family.js';

/** Figures of a store of counters; counts are since the start. */
export interface StoreFigures {
  readonly batches: number;
  readonly batchBytes: number;
  readonly batchMilliseconds: number;
  readonly failedBatches: number;
}

/** Changes that a configuration file has not taken yet. */
export function pendingFamily(configuration: () => { readonly pendingChanges: number }): Family {
  return gauge(
    'keyway_config_pending_changes',
    'Keys, rule lists and DNS settings that are changed in memory and not in the configuration file.',
    () => configuration().pendingChanges,
  );
}

export function storeFamilies(counters: () => StoreFigures): readonly Family[] {
  return [
    counter(
      'keyway_counters_batches_total',
      'Batches of counters that were to be written to the data folder.',
      () => [
        { labels: { outcome: 'written' }, value: counters().batches },
        { labels: { outcome: 'failed' }, value: counters().failedBatches },
      ],
      ['outcome'],
    ),
    counter(
      'keyway_counters_written_bytes_total',
      'Bytes of the batches of counters that were written.',
      () => counters().batchBytes,
    ),
    counter(
      'keyway_counters_write_seconds_total',
      'Time that writing those batches took.',
      () => counters().batchMilliseconds / 1000,
    ),
  ];
}
