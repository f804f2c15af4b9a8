import { callerNetwork, type NetworkBytes } from '../core/caller-network.js';

/** The verdict on a client's query: an answer, a truncated one (a real client then comes by TCP), or nothing. */
export type Verdict = 'answer' | 'truncate' | 'drop';

/** Limits what goes out over UDP per network, where senders can be forged. */
export type RateLimit = ReturnType<typeof createRateLimit>;

export interface RateLimitOptions {
  /** Answers a second that a network gets. */
  readonly perSecond: number;
  /** Answers that it may get at once. */
  readonly burst: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** The network that one sender can forge or have: a /24 of IPv4, a /56 of IPv6. */
const NETWORK: NetworkBytes = { v4: 3, v6: 7 };
/** Networks that are remembered; one forgotten starts anew with a full burst. */
const MOST_NETWORKS = 10_000;

interface Bucket {
  tokens: number;
  filledAt: number;
  dropped: boolean;
}

/**
 * A bucket of answers for each /24 of IPv4 and /56 of IPv6. Of queries beyond it every second one is answered, truncated
 * and so no longer than itself: a forged sender gains nothing, and a real one can come by TCP.
 */
export function createRateLimit({ perSecond, burst, now }: RateLimitOptions) {
  const buckets = new Map<string, Bucket>();
  return {
    check(address: string): Verdict {
      const network = callerNetwork(address, NETWORK);
      const time = now();
      const bucket = buckets.get(network) ?? { tokens: burst, filledAt: time, dropped: false };
      buckets.delete(network);
      buckets.set(network, bucket);
      if (buckets.size > MOST_NETWORKS)
        for (const oldest of buckets.keys()) {
          buckets.delete(oldest);
          break;
        }
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
