import { counter, type Family, gauge } from './family.js';

/** Figures of a shared database; counts are since the start. */
export interface DatabaseFigures {
  /** Milliseconds since the moment whose state is in memory. */
  readonly age: number;
  readonly looks: number;
  readonly reloads: number;
  readonly isListening: boolean;
  readonly identity: string;
  readonly connections: Readonly<
    Record<string, { readonly open: number; readonly busy: number; readonly waiting: number }>
  >;
  readonly figures: { readonly tables: ReadonlyMap<string, number>; readonly lockWaits: number } | null;
  readonly writes: Readonly<Record<'done' | 'nothing' | 'unknown', number>>;
  readonly counting: {
    readonly batches: number;
    readonly failed: number;
    readonly entries: number;
    readonly waitingBytes: number;
  };
}

export function databaseFamilies(figures: () => DatabaseFigures): readonly Family[] {
  return [
    gauge(
      'keyway_database_info',
      '1, with the id of the state: gateways that name another one are over another database.',
      () => [{ labels: { state: figures().identity }, value: 1 }],
      ['state'],
    ),
    gauge(
      'keyway_database_connections',
      'Connections to the database by purpose: in use, idle, and requests that wait for one.',
      () =>
        Object.entries(figures().connections).flatMap(([purpose, { open, busy, waiting }]) => [
          { labels: { purpose, use: 'busy' }, value: busy },
          { labels: { purpose, use: 'idle' }, value: open - busy },
          { labels: { purpose, use: 'waiting' }, value: waiting },
        ]),
      ['purpose', 'use'],
    ),
    gauge(
      'keyway_database_lock_waits',
      'Statements over tables of Keyway that wait for what others have locked, as asked for four times a minute.',
      () => {
        const present = figures().figures;
        return present === null ? [] : [{ value: present.lockWaits }];
      },
    ),
    gauge(
      'keyway_database_table_bytes',
      'What the tables of the schema take on disk with their indexes.',
      () => [...(figures().figures?.tables ?? [])].map(([table, value]) => ({ labels: { table }, value })),
      ['table'],
    ),
    gauge(
      'keyway_database_age_seconds',
      'How old what is in memory may be: rises while the database does not answer.',
      () => figures().age / 1000,
    ),
    counter('keyway_database_looks_total', 'Looks for changes in the database.', () => figures().looks),
    counter(
      'keyway_database_reloads_total',
      'Times that everything was read again, because the database had lost writes or too much had changed.',
      () => figures().reloads,
    ),
    gauge('keyway_database_listening', '1 while hints of changes are heard.', () => (figures().isListening ? 1 : 0)),
    counter(
      'keyway_database_writes_total',
      'Writes by how they ended; unknown: it could not be found out in time.',
      () => Object.entries(figures().writes).map(([outcome, value]) => ({ labels: { outcome }, value })),
      ['outcome'],
    ),
    counter(
      'keyway_database_batches_total',
      'Batches of counters that were to be written to the database.',
      () => [
        { labels: { outcome: 'written' }, value: figures().counting.batches },
        { labels: { outcome: 'failed' }, value: figures().counting.failed },
      ],
      ['outcome'],
    ),
    counter(
      'keyway_database_entries_total',
      'Entries of usage reports in batches that were written.',
      () => figures().counting.entries,
    ),
    gauge(
      'keyway_database_waiting_bytes',
      'Memory of reports that were acknowledged and are not in the database yet.',
      () => figures().counting.waitingBytes,
    ),
  ];
}
