import { useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import {
  type Filter,
  filterUsers,
  keepOrder,
  type Query,
  type Sorting,
  STEADY,
  sortUsers,
} from '../../state/key-list.js';

/** What the table shows, and how. */
export interface Arrangement {
  readonly rows: readonly User[];
  /** When the rows were last put in order, where values have moved since; null where the order holds. */
  readonly staleSince: number | null;
  sortAgain(): void;
}

interface Last {
  readonly users: readonly User[];
  readonly sorting: Sorting;
  readonly filter: Filter;
  readonly query: Query;
  readonly turn: number;
  readonly rows: readonly User[];
  readonly sortedAt: number;
  readonly stale: boolean;
}

/**
 * Filters and sorts. A refresh does not move rows under somebody's hands: while the table is in use (`isBusy`), a list
 * sorted by something that moves keeps its order and says since when.
 */
export function useArrangement(
  users: readonly User[],
  sorting: Sorting,
  filter: Filter,
  query: Query,
  isBusy: () => boolean,
): Arrangement {
  const [turn, setTurn] = useState(0);
  const last = useRef<Last | null>(null);
  const before = last.current;
  const sameView =
    before !== null &&
    before.sorting === sorting &&
    before.filter === filter &&
    before.query === query &&
    before.turn === turn;
  if (!sameView || before.users !== users) {
    const matching = filterUsers(users, filter, query);
    const keep = sameView && !STEADY.has(sorting.column) && isBusy();
    last.current = {
      users,
      sorting,
      filter,
      query,
      turn,
      rows: keep ? keepOrder(before.rows, matching) : sortUsers(matching, sorting),
      sortedAt: keep ? before.sortedAt : Date.now(),
      stale: keep,
    };
  }
  const now = last.current;
  return {
    rows: now?.rows ?? [],
    staleSince: now?.stale === true ? now.sortedAt : null,
    sortAgain: () => setTurn(turn + 1),
  };
}
