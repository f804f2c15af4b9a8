import type { Family } from './family.js';

/** Figures of the state that a running server holds; counts are since the start. */
export interface UpstreamFigures {
  readonly renewals: number;
  readonly failed: number;
  /** Null before the first list. */
  readonly ageMilliseconds: number | null;
  readonly unsettled: number;
  readonly madeAgain: number;
  readonly left: number;
  readonly writesWaiting: number;
}

export function upstreamFamilies(figures: () => UpstreamFigures): readonly Family[] {
  return [
    {
      name: 'keyway_upstream_list_age_seconds',
      help: 'Time since the list of keys that is known was asked for; it grows while nobody looks.',
      type: 'gauge',
      read() {
        const { ageMilliseconds } = figures();
        return ageMilliseconds === null ? [] : [{ value: ageMilliseconds / 1000 }];
      },
    },
    {
      name: 'keyway_upstream_renewals_total',
      help: 'Lists of keys that were asked for, and whether they were taken in.',
      type: 'counter',
      labelNames: ['outcome'],
      read() {
        const { renewals, failed } = figures();
        return [
          { labels: { outcome: 'taken' }, value: renewals },
          { labels: { outcome: 'failed' }, value: failed },
        ];
      },
    },
    {
      name: 'keyway_upstream_unsettled_writes',
      help: 'Keys whose last write was acknowledged and may still be lost by the server.',
      type: 'gauge',
      read: () => figures().unsettled,
    },
    {
      name: 'keyway_upstream_lost_writes_total',
      help: 'Acknowledged writes that the server had lost and that were made again.',
      type: 'counter',
      read: () => figures().madeAgain,
    },
    {
      name: 'keyway_upstream_left_deletions_total',
      help: 'Keys made through Keyway that somebody else deleted at the server within 7 s, which was left so.',
      type: 'counter',
      read: () => figures().left,
    },
    {
      name: 'keyway_upstream_waiting_writes',
      help: 'Writes that wait for their turn at the server, the one under way included.',
      type: 'gauge',
      read: () => figures().writesWaiting,
    },
  ];
}
