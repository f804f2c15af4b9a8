import { useEffect, useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { COLUMNS, filterUsers, keepOrder, sortUsers } from '../../state/key-list.js';
import type { KeysView } from '../../state/keys-view.js';
import { atOnce, inTurns, type Steps } from '../../text/steps.js';
import type { Stale } from './table-head.js';

export interface Arrangement {
  /** The same array while order and keys hold: what the keys are by now is in `byKey`. */
  readonly rows: readonly User[];
  /** True while a large list is sorted: the rows are those of before. */
  readonly isPending: boolean;
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
 * sorted by something that moves keeps its order and says since when; a large one keeps it always, and is sorted in steps.
 */
export function useArrangement(
  users: readonly User[],
  byKey: ReadonlyMap<string, User>,
  view: KeysView,
  isBusy: () => boolean,
): Arrangement {
  const [turn, setTurn] = useState(0);
  const [, draw] = useState<Last | null>(null);
  const last = useRef<Last | null>(null);
  const before = last.current;
  const { query, filter, sorting } = view;
  const sameView =
    before !== null &&
    before.view.sorting === sorting &&
    before.view.filter === filter &&
    before.view.query === query &&
    before.turn === turn;
  const isLarge = users.length >= LARGE;
  const isHeld =
    sameView && before.users.length > 0 && (isLarge || (COLUMNS[sorting.column].isSteady !== true && isBusy()));
  const isPending = isLarge && !isHeld;
  const as = { users, byKey, view, turn };
  if (isHeld && before.users !== users) {
    const matching = atOnce(filterUsers(users, filter, query));
    const isWhole = matching === users;
    const isSame = isWhole && before.byKey === byKey;
    const rows = isSame ? before.rows : keepOrder(before.rows, matching, isWhole ? byKey : undefined);
    last.current = { ...as, rows, sortedAt: before.sortedAt, stale: true };
  } else if (!isLarge && !(sameView && before.users === users)) {
    last.current = { ...as, rows: atOnce(arranged(users, view)), sortedAt: Date.now(), stale: false };
  }
  useEffect(() => {
    if (!isPending) return;
    const ended = new AbortController();
    void inTurns(arranged(users, view), ended.signal).then((rows) => {
      if (rows === null) return;
      last.current = { ...as, rows, sortedAt: Date.now(), stale: false };
      draw(last.current);
    });
    return () => ended.abort();
  }, [isPending, sorting, filter, query, turn]);
  const now = last.current;
  return {
    rows: now?.rows ?? [],
    isPending,
    stale: now?.stale === true ? { since: now.sortedAt, sortAgain: () => setTurn(turn + 1) } : null,
  };
}

function* arranged(users: readonly User[], { filter, query, sorting }: KeysView): Steps<readonly User[]> {
  return yield* sortUsers(yield* filterUsers(users, filter, query), sorting);
}
