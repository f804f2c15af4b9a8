import type { DnsQuery } from '../core/model.js';

/** The last queries. */
export type QueryLog = ReturnType<typeof createQueryLog>;

/** Keeps so many queries; the oldest leave. */
export function createQueryLog(most: number) {
  const ring: DnsQuery[] = [];
  let next = 0;
  return {
    add(query: DnsQuery): void {
      ring[next] = query;
      next = (next + 1) % most;
    },
    /** Oldest first. */
    list: (): readonly DnsQuery[] =>
      ring.length < most ? ring.slice() : [...ring.slice(next), ...ring.slice(0, next)],
  };
}
