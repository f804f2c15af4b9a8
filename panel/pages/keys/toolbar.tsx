import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatExact } from '../../../src/text/sizes.js';
import type { User } from '../../api/wire.js';
import { clockTime, useWords } from '../../i18n/text.js';
import { countFilters, FILTERS, type Filter, type Query, tellsOnline } from '../../state/key-list.js';
import { EVERYTHING, type KeysView } from '../../state/keys-view.js';
import type { NamedKey } from '../../state/named-keys.js';
import type { SelectionCounts } from '../../state/selection.js';
import { useWorkspace } from '../../state/workspace.js';
import { type Store, useStore } from '../../store/store.js';
import { Button, IconButton, Segments } from '../../ui/button.js';
import { Select } from '../../ui/field.js';
import { Icon } from '../../ui/icon.js';
import { useNarrow } from '../../ui/width.js';
import { Handout } from './handout.js';
import { SelectAll, SortChoice, type Stale, StaleNote } from './table-head.js';

interface ToolbarProps {
  readonly view: Store<KeysView>;
  /** Null while the list is loading. */
  readonly users: readonly User[] | null;
  readonly rows: readonly User[];
  /** The number of rows that are selected. */
  readonly ticked: number;
  readonly stale: Stale | null;
  readonly onSelect: (keys: readonly string[], on: boolean) => void;
  readonly onDo: (doing: Doing) => void;
}

/** Search, filters and what makes new keys. */
export function Toolbar({ view, users, rows, ticked, stale, onSelect, onDo }: ToolbarProps) {
  const words = useWords();
  const { query, filter, sorting } = useStore(view);
  const narrow = useNarrow();
  const total = users?.length ?? null;
  return (
    <div class="stack tight toolbar">
      <div class="line toolbar-line">
        <h1>{words('page.keys')}</h1>
        <span class="count quiet" role="status">
          {total === null
            ? ''
            : rows.length === total
              ? words('keys.count', { n: total })
              : words('keys.countOf', { shown: rows.length, n: total })}
        </span>
        <ListAge />
        {stale !== null && <StaleNote {...stale} />}
        <span class="grow" />
        <Button
          icon="upload"
          shrinks
          title={words('import.title')}
          // A key that is not known to exist would be made again.
          off={users === null && words('keys.loading')}
          onClick={() => onDo('import')}
        >
          {words('import.open')}
        </Button>
        <Button icon="many" shrinks title={words('bulk.title')} onClick={() => onDo('bulk')}>
          {words('keys.bulk')}
        </Button>
        <Button kind="primary" icon="plus" onClick={() => onDo('create')}>
          {words('edit.new')}
        </Button>
      </div>
      {total !== 0 && (
        <div class="line toolbar-line">
          <Search query={query} onQuery={(next) => view.patch({ query: next })} />
          <Filters users={users} filter={filter} onFilter={(next) => view.patch({ filter: next })} />
          <span class="line narrow-tools">
            {narrow && rows.length > 0 && <SelectAll rows={rows} ticked={ticked} onSelect={onSelect} />}
            <SortChoice sorting={sorting} onSort={(next) => view.patch({ sorting: next })} />
          </span>
        </div>
      )}
    </div>
  );
}

/** Milliseconds from which on a list says how old it is. */
const OLD = 10_000;

/** Says of when the list is, where that is a while ago. */
function ListAge() {
  const words = useWords();
  const loadedAt = useStore(useWorkspace().users.state, (state) => state.loadedAt);
  const [old, setOld] = useState<number | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setOld(loadedAt), Math.max(0, loadedAt + OLD - Date.now()));
    return () => clearTimeout(timer);
  }, [loadedAt]);
  if (old !== loadedAt || loadedAt === 0) return null;
  return <span class="hint list-age">{words('keys.asOf', { time: clockTime(loadedAt, words.language) })}</span>;
}

interface FiltersProps {
  /** Null while there is no list: nothing is counted then. */
  readonly users: readonly User[] | null;
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
}

const NO_USERS: readonly User[] = [];

/** Keys from which on they are counted in a task of its own, and not while they are drawn. */
const LARGE = 20_000;

function useCounts(users: readonly User[]): Readonly<Record<Filter, number>> {
  const [counted, setCounted] = useState(() => ({ users, counts: countFilters(users) }));
  const isLate = users.length >= LARGE && counted.users.length > 0;
  const counts = useMemo(() => (isLate ? null : countFilters(users)), [users]);
  useEffect(() => {
    const timer = setTimeout(() => setCounted({ users, counts: counts ?? countFilters(users) }));
    return () => clearTimeout(timer);
  }, [users]);
  return counts ?? counted.counts;
}

/** The filters with their numbers of keys: buttons, and one menu where there is no room for them. */
function Filters({ users, filter, onFilter }: FiltersProps) {
  const words = useWords();
  const counts = useCounts(users ?? NO_USERS);
  const first = users?.[0];
  const blind = first !== undefined && !tellsOnline(first);
  const names = FILTERS.filter((name) => !(blind && name === 'online'));
  const text = (name: Filter) => ({
    label: words(name === 'all' || name === 'unlimited' ? `keys.filter.${name}` : `keys.status.${name}`),
    count: users === null ? '' : formatExact(counts[name], words.language),
  });
  return (
    <>
      <Segments
        class="segments filter-buttons"
        label={words('action.show')}
        names={names}
        chosen={filter}
        onChoose={onFilter}
      >
        {(name) => (
          <>
            {text(name).label} <span class="quiet">{text(name).count}</span>
          </>
        )}
      </Segments>
      <Select class="filter-menu" aria-label={words('action.show')} names={names} value={filter} onChoose={onFilter}>
        {(name) => `${text(name).label} ${text(name).count}`.trim()}
      </Select>
      {blind && <span class="hint">{words('absent.online')}</span>}
    </>
  );
}

interface SearchProps {
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
}

/** Searches as one types. Several pasted lines are looked up as whole keys and names instead. */
function Search({ query, onQuery }: SearchProps) {
  const words = useWords();
  const narrow = useNarrow();
  const paste = (event: ClipboardEvent) => {
    const lines = (event.clipboardData?.getData('text') ?? '')
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== '');
    if (lines.length < 2) return;
    event.preventDefault();
    onQuery({ kind: 'lines', lines });
  };
  const clear = <IconButton icon="close" label={words('keys.clearSearch')} onClick={() => onQuery(EVERYTHING)} />;
  if (query.kind === 'lines') {
    return (
      <div class="line search search-lines" role="status" title={words('keys.searchLinesHint')}>
        <Icon name="search" />
        <span>
          {words('keys.searchLines', { n: query.lines.length })}{' '}
          <span class="visually-hidden">{words('keys.searchLinesHint')}</span>
        </span>
        {clear}
      </div>
    );
  }
  return (
    <div class="line search">
      <Icon name="search" />
      <input
        type="search"
        data-search=""
        aria-label={words('keys.search')}
        placeholder={words(narrow ? 'keys.searchShort' : 'keys.search')}
        autocomplete="off"
        spellcheck={false}
        value={query.text}
        onInput={(event) => onQuery({ kind: 'part', text: event.currentTarget.value })}
        onPaste={paste}
      />
      {query.text !== '' && clear}
    </div>
  );
}

/** The actions of the page on new keys, or on those that are selected. */
export type Doing = 'create' | 'bulk' | 'import' | 'delete' | 'limit' | 'reset';

interface SelectionBarProps {
  readonly counts: SelectionCounts;
  /** Returns the selected keys. */
  readonly chosen: () => readonly NamedKey[];
  readonly onDo: (doing: Doing) => void;
  readonly onClear: () => void;
  readonly onShow: () => void;
}

/** The actions on the selected keys. It has its place below the list from the beginning, so that nothing moves. */
export function SelectionBar({ counts: { there, unseen }, chosen, onDo, onClear, onShow }: SelectionBarProps) {
  const words = useWords();
  if (there === 0) return <p class="hint">{words('keys.selectHint')}</p>;
  return (
    <div class="line selection" role="toolbar" aria-label={words('keys.selected', { n: there })}>
      <strong role="status">{words('keys.selected', { n: there })}</strong>
      {unseen > 0 && (
        <Button kind="small" onClick={onShow}>
          {words('keys.notShown', { n: unseen })}
        </Button>
      )}
      <Button icon="gauge" onClick={() => onDo('limit')}>
        {words('keys.limit')}
      </Button>
      <Button icon="reset" onClick={() => onDo('reset')}>
        {words('key.resetCounters')}
      </Button>
      <Handout keys={chosen} />
      <Button kind="quiet-danger" icon="trash" onClick={() => onDo('delete')}>
        {words('key.delete')}
      </Button>
      <span class="grow" />
      <IconButton icon="close" label={words('keys.unselect')} onClick={onClear} />
    </div>
  );
}
