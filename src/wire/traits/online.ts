import type { KeyCounts } from '../../core/keys/types.js';
import type { TrafficCounters } from '../../core/model.js';

/** The rule by which a key counts as online (protocol: "Online flag"). */
export interface OnlineRule {
  readonly name: string;
  isOnline(counters: TrafficCounters | null): boolean;
  /** False where a key that is shown with this flag has no counters for certain. */
  mayHaveCounters(online: boolean): boolean;
  /** Returns the number of keys that it holds for. */
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
