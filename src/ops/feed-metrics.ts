import type { Family } from './family.js';

/** Figures of the feed; counts are since the start. */
export interface FeedFigures {
  readonly reports: number;
  readonly entries: number;
  readonly repeatedReports: number;
  readonly unknownKeys: number;
  readonly notDurable: number;
  readonly refused: number;
}

export function feedFamilies(figures: () => FeedFigures): readonly Family[] {
  return [
    {
      name: 'keyway_feed_reports_total',
      help: 'Usage reports of the tunnel server; repeated ones were counted before and not again.',
      type: 'counter',
      labelNames: ['outcome'],
      read: () => {
        const { reports, repeatedReports } = figures();
        return [
          { labels: { outcome: 'counted' }, value: reports - repeatedReports },
          { labels: { outcome: 'repeated' }, value: repeatedReports },
        ];
      },
    },
    counter('keyway_feed_entries_total', 'Entries of usage reports that were counted.', () => figures().entries),
    counter(
      'keyway_feed_unknown_keys_total',
      'Keys in usage reports that were not registered.',
      () => figures().unknownKeys,
    ),
    counter(
      'keyway_feed_not_durable_total',
      'Usage reports that were counted and could not be written to the disk.',
      () => figures().notDurable,
    ),
    counter(
      'keyway_feed_refused_requests_total',
      'Requests to the feed without its token, or that it could not read.',
      () => figures().refused,
    ),
  ];
}

function counter(name: string, help: string, read: () => number): Family {
  return { name, help, type: 'counter', read };
}
