import { isObject } from '../api/objects.js';
import { createStore, type Store } from '../store/store.js';
import { parsed } from '../text/exact-json.js';
import { COLUMN_NAMES, FILTERS, type Filter, type Query, type Sorting } from './key-list.js';
import { perWorkspace } from './per-workspace.js';

/** The search, filter, order and selection of the list. They stay while another page is open, and over a reload. */
export interface KeysView {
  readonly query: Query;
  readonly filter: Filter;
  readonly sorting: Sorting;
  readonly selected: ReadonlySet<string>;
}

export const EVERYTHING: Query = { kind: 'part', text: '' };

/** In the beginning all keys, as the server sorts them. */
const FIRST: KeysView = {
  query: EVERYTHING,
  filter: 'all',
  sorting: { column: 'down', descending: true },
  selected: new Set(),
};

/** The view of one server's keys. */
export const keysViewOf = perWorkspace<Store<KeysView>>(({ place, session, tab }) => {
  const name = `keyway:keys:${place.root}`;
  const selectedName = `keyway:selected:${place.root}`;
  const kept = parsed(tab.kept.read(selectedName));
  const selected = new Set(Array.isArray(kept) ? kept.map(String) : []);
  const view = createStore<KeysView>({ ...FIRST, ...read(parsed(tab.kept.read(name))), selected });
  view.subscribe(() => {
    const { query, filter, sorting } = view.get();
    tab.kept.write(name, JSON.stringify({ query, filter, sorting }));
  });
  // Not at each change: of 100,000 keys that takes long.
  tab.onLeave(() => {
    const keys = [...view.get().selected];
    tab.kept.write(selectedName, keys.length === 0 ? null : JSON.stringify(keys));
  });
  session.onSignOut(() => {
    view.set(FIRST);
    tab.kept.write(selectedName, null);
    tab.kept.write(name, null);
  });
  return view;
});

function read(kept: unknown): Partial<KeysView> {
  if (!isObject(kept)) return {};
  const { query, sorting } = kept;
  const filter = FILTERS.find((name) => name === kept.filter);
  const column = isObject(sorting) ? COLUMN_NAMES.find((name) => name === sorting.column) : undefined;
  return {
    ...(isObject(query) && { query: readQuery(query) }),
    ...(filter !== undefined && { filter }),
    ...(column !== undefined && { sorting: { column, descending: isObject(sorting) && sorting.descending === true } }),
  };
}

function readQuery({ text, lines }: Readonly<Record<string, unknown>>): Query {
  return Array.isArray(lines)
    ? { kind: 'lines', lines: lines.map(String) }
    : { kind: 'part', text: String(text ?? '') };
}
