import { REMEMBERED_REPORTS } from '../../../core/backend.js';

export type RememberedReports = ReturnType<typeof createRememberedReports>;

export interface ReportChanges {
  /** All ids before `added` are forgotten. */
  readonly restored: boolean;
  /** Oldest first. */
  readonly added: readonly string[];
}

/** The ids of the last reports that were counted, so that one that comes again is not counted twice. */
export function createRememberedReports(limit: number = REMEMBERED_REPORTS) {
  const known = new Set<string>();
  /** A ring: taking the first out of a set of a hundred thousand walks over all that were taken before. */
  let ring: string[] = [];
  let next = 0;
  let added: string[] = [];
  let restored = false;

  /** Remembers one more; the oldest beyond `REMEMBERED_REPORTS` is forgotten. */
  function add(id: string): void {
    if (known.has(id)) return;
    const oldest = ring[next];
    if (oldest !== undefined) known.delete(oldest);
    ring[next] = id;
    next = (next + 1) % limit;
    known.add(id);
    added.push(id);
    // Without a store nobody takes them.
    if (added.length > 2 * limit) added = added.slice(-limit);
  }

  return {
    has: (id: string): boolean => known.has(id),
    add,
    /** Oldest first. */
    all: (): readonly string[] => (ring.length < limit ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]),
    /** Replaces everything, oldest first. */
    restore(ids: readonly string[]): void {
      known.clear();
      ring = [];
      next = 0;
      added = [];
      restored = true;
      for (const id of ids) add(id);
    },
    /** Returns the changes since the last call that a store has to follow. */
    takeChanges(): ReportChanges {
      const taken = { restored, added };
      restored = false;
      added = [];
      return taken;
    },
  };
}
