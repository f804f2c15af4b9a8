import { counter, type Family, gauge } from './family.js';

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
    gauge(
      'keyway_upstream_list_age_seconds',
      'Time since the list of keys that is known was asked for; it grows while nobody looks.',
      () => {
        const { ageMilliseconds } = figures();
        return ageMilliseconds === null ? [] : [{ value: ageMilliseconds / 1000 }];
      },
    ),
    counter(
      'keyway_upstream_renewals_total',
      'Lists of keys that were asked for, and whether they were taken in.',
      () => {
        const { renewals, failed } = figures();
        return [
          { labels: { outcome: 'taken' }, value: renewals },
          { labels: { outcome: 'failed' }, value: failed },
        ];
      },
      ['outcome'],
    ),
    gauge(
      'keyway_upstream_unsettled_writes',
      'Keys whose last write was acknowledged and may still be lost by the server.',
      () => figures().unsettled,
    ),
    counter(
      'keyway_upstream_lost_writes_total',
      'Acknowledged writes that the server had lost and that were made again.',
      () => figures().madeAgain,
    ),
    counter(
      'keyway_upstream_left_deletions_total',
      'Keys made through Keyway that somebody else deleted at the server within 7 s, which was left so.',
      () => figures().left,
    ),
    gauge(
      'keyway_upstream_waiting_writes',
      'Writes that wait for their turn at the server, the one under way included.',
      () => figures().writesWaiting,
    ),
  ];
}
