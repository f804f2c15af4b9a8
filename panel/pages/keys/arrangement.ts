import { useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { COLUMNS, filterUsers, keepOrder, sortUsers } from '../../state/key-list.js';
import type { KeysView } from '../../state/keys-view.js';
import type { Stale } from './table-head.js';

export interface Arrangement {
  /** The same array while order and keys hold: what the keys are by now is in `byKey`. */
  readonly rows: readonly User[];
  /** Null where the order holds. */
  readonly stale: Stale | null;
}

interface Last {
  readonly users: readonly User[];
  readonly byKey: ReadonlyMap<string, User>;
  readonly view: Pick<KeysView, 'query' | 'filter' | 'sorting'>;
  readonly turn: number;
  readonly rows: readonly User[];
  readonly sortedAt: number;
  readonly stale: boolean;
}

/** Keys from which on a list is sorted again only when somebody asks: it takes longer than a page may stand still. */
const LARGE = 20_000;

/**
 * Filters and sorts. A refresh does not move rows under somebody's hands: while the table is in use (`isBusy`), a list
 * sorted by something that moves keeps its order and says since when; a large one keeps it always.
 */
export function useArrangement(
  users: readonly User[],
  byKey: ReadonlyMap<string, User>,
  view: KeysView,
  isBusy: () => boolean,
): Arrangement {
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
    const isHeld = users.length >= LARGE || (COLUMNS[sorting.column].isSteady !== true && isBusy());
    const stale = sameView && before.users.length > 0 && isHeld;
    const isWhole = matching === users;
    const rows = !stale
      ? sortUsers(matching, sorting)
      : isWhole && before.byKey === byKey
        ? before.rows
        : keepOrder(before.rows, matching, isWhole ? byKey : undefined);
    last.current = { users, byKey, view, turn, rows, sortedAt: stale ? before.sortedAt : Date.now(), stale };
  }
  const now = last.current;
  return {
    rows: now?.rows ?? [],
    stale: now?.stale === true ? { since: now.sortedAt, sortAgain: () => setTurn(turn + 1) } : null,
  };
}
