import { createStore, type Store } from '../store/store.js';
import type { Filter, Query, Sorting } from './key-list.js';
import { perWorkspace } from './per-workspace.js';

/** How the list of keys is looked at. It stays while another page is open. */
export interface KeysView {
  readonly query: Query;
  readonly filter: Filter;
  readonly sorting: Sorting;
  readonly selected: ReadonlySet<string>;
}

export const EVERYTHING: Query = { kind: 'part', text: '' };

/** The view of one server's keys; in the beginning all of them, as the server sorts them. */
export const keysViewOf = perWorkspace<Store<KeysView>>(() =>
  createStore<KeysView>({
    query: EVERYTHING,
    filter: 'all',
    sorting: { column: 'down', descending: true },
    selected: new Set(),
  }),
);
