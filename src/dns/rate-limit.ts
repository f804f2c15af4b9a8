import { callerNetwork, type NetworkBytes } from '../core/caller-network.js';
import { RecentMap } from '../core/recent-map.js';

/** The verdict on a query: a full answer, a truncated one (a real client then comes back over TCP), or nothing. */
export type Verdict = 'answer' | 'truncate' | 'drop';

/** Limits answers over UDP by network, because senders can be forged. */
export type RateLimit = ReturnType<typeof createRateLimit>;

export interface RateLimitOptions {
  /** Answers a second for one network. */
  readonly perSecond: number;
  /** Answers for one network at once. */
  readonly burst: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** The network that one sender can forge or own: a /24 of IPv4, a /56 of IPv6. */
const NETWORK: NetworkBytes = { v4: 3, v6: 7 };
/** The most networks that are remembered; a forgotten one starts with a full burst. */
const MOST_NETWORKS = 10_000;

interface Bucket {
  tokens: number;
  filledAt: number;
  dropped: boolean;
}

/**
 * Creates a limit with a bucket of answers for each /24 of IPv4 and /56 of IPv6. Beyond it every second query is
 * answered, truncated and so no longer than itself: a forged sender gains nothing, and a real one can come back over
 * TCP.
 */
export function createRateLimit({ perSecond, burst, now }: RateLimitOptions) {
  const buckets = new RecentMap<string, Bucket>(MOST_NETWORKS);
  return {
    check(address: string): Verdict {
      const network = callerNetwork(address, NETWORK);
      const time = now();
      const bucket = buckets.get(network) ?? { tokens: burst, filledAt: time, dropped: false };
      buckets.set(network, bucket);
      bucket.tokens = Math.min(burst, bucket.tokens + ((time - bucket.filledAt) / 1000) * perSecond);
      bucket.filledAt = time;
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return 'answer';
      }
      bucket.dropped = !bucket.dropped;
      return bucket.dropped ? 'drop' : 'truncate';
    },
  };
}
