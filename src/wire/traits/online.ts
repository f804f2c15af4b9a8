import type { KeyCounts } from '../../core/keys/types.js';
import type { TrafficCounters } from '../../core/model.js';

/** The rule by which a key counts as online (protocol: "Online flag"). */
export interface OnlineRule {
  readonly name: string;
  isOnline(counters: TrafficCounters | null): boolean;
  /** False if a key that is shown with this flag certainly has no counters. */
  mayHaveCounters(online: boolean): boolean;
  /** Returns the number of keys that are online by it. */
  count(counts: KeyCounts): number;
}

/** Current revision. */
export const onlineWhenConnected: OnlineRule = {
  name: 'connections > 0',
  isOnline: (counters) => counters !== null && counters.connections > 0n,
  mayHaveCounters: () => true,
  count: ({ connected }) => connected,
};

/** Earlier revisions. */
export const onlineWithCounters: OnlineRule = {
  name: 'counters exist',
  isOnline: (counters) => counters !== null,
  mayHaveCounters: (online) => online,
  count: ({ withCounters }) => withCounters,
};
