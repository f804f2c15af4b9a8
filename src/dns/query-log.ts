import type { DnsQuery } from '../core/model.js';

/** The last queries. */
export interface QueryLog {
  add(query: DnsQuery): void;
  /** Oldest first. */
  list(): readonly DnsQuery[];
}

/** Keeps so many queries; the oldest leave. */
export function createQueryLog(most: number): QueryLog {
  const ring: DnsQuery[] = [];
  let next = 0;
  return {
    add(query) {
      ring[next] = query;
      next = (next + 1) % most;
    },
    list: () => (ring.length < most ? ring.slice() : [...ring.slice(next), ...ring.slice(0, next)]),
  };
}
