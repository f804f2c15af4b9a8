import { useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { COLUMNS, filterUsers, keepOrder, sortUsers } from '../../state/key-list.js';
import type { KeysView } from '../../state/keys-view.js';
import type { Stale } from './table-head.js';

export interface Arrangement {
  readonly rows: readonly User[];
  /** Null where the order holds. */
  readonly stale: Stale | null;
}

interface Last {
  readonly users: readonly User[];
  readonly view: Pick<KeysView, 'query' | 'filter' | 'sorting'>;
  readonly turn: number;
  readonly rows: readonly User[];
  readonly sortedAt: number;
  readonly stale: boolean;
}

/**
 * Filters and sorts. A refresh does not move rows under somebody's hands: while the table is in use (`isBusy`), a list
 * sorted by something that moves keeps its order and says since when.
 */
export function useArrangement(users: readonly User[], view: KeysView, isBusy: () => boolean): Arrangement {
  const [turn, setTurn] = useState(0);
  const last = useRef<Last | null>(null);
  const before = last.current;
  const { query, filter, sorting } = view;
  const sameView =
    before !== null &&
    before.view.sorting === sorting &&
    before.view.filter === filter &&
    before.view.query === query &&
    before.turn === turn;
  if (!sameView || before.users !== users) {
    const matching = filterUsers(users, filter, query);
    const stale = sameView && COLUMNS[sorting.column].isSteady !== true && isBusy();
    const rows = stale ? keepOrder(before.rows, matching) : sortUsers(matching, sorting);
    last.current = { users, view, turn, rows, sortedAt: stale ? before.sortedAt : Date.now(), stale };
  }
  const now = last.current;
  return {
    rows: now?.rows ?? [],
    stale: now?.stale === true ? { since: now.sortedAt, sortAgain: () => setTurn(turn + 1) } : null,
  };
}
