import { clockTime, useWords } from '../../i18n/text.js';
import { FILTERS, type Query } from '../../state/key-list.js';
import { EVERYTHING, type KeysView } from '../../state/keys-view.js';
import { type Store, useStore } from '../../store/store.js';
import { Icon } from '../../ui/icon.js';
import type { Doing } from './selection-bar.js';
import { SortChoice } from './table-head.js';

interface ToolbarProps {
  readonly view: Store<KeysView>;
  readonly shown: number;
  /** Null while the list is loading. */
  readonly total: number | null;
  readonly staleSince: number | null;
  readonly onSortAgain: () => void;
  readonly onDo: (doing: Doing) => void;
}

/** Search, filters and what makes new keys. */
export function Toolbar(props: ToolbarProps) {
  const words = useWords();
  const { view, shown, total, staleSince } = props;
  const { query, filter, sorting } = useStore(view);
  return (
    <div class="toolbar">
      <div class="toolbar-line">
        <h1>{words('page.keys')}</h1>
        <span class="count" role="status">
          {total === null
            ? ''
            : shown === total
              ? words('keys.count', { n: total })
              : words('keys.countOf', { shown, n: total })}
        </span>
        <span class="grow" />
        <button type="button" class="button" onClick={() => props.onDo('bulk')}>
          <Icon name="many" /> {words('keys.bulk')}
        </button>
        <button type="button" class="button button-primary" onClick={() => props.onDo('create')}>
          <Icon name="plus" /> {words('keys.create')}
        </button>
      </div>
      <div class="toolbar-line">
        <Search query={query} onQuery={(next) => view.patch({ query: next })} />
        <div class="segments" role="group" aria-label={words('keys.filter')}>
          {FILTERS.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={filter === name}
              onClick={() => view.patch({ filter: name })}
            >
              {words(`keys.filter.${name}`)}
            </button>
          ))}
        </div>
        <SortChoice sorting={sorting} onSort={(next) => view.patch({ sorting: next })} />
        {staleSince !== null && (
          <span class="stale">
            {words('keys.sortStale', { time: clockTime(staleSince, words.language) })}
            <button type="button" class="button button-small" onClick={props.onSortAgain}>
              {words('keys.sortAgain')}
            </button>
          </span>
        )}
      </div>
    </div>
  );
}

/** Characters; a longer part can be in no name or key that anybody reads. */
const LONGEST = 10_000;

interface SearchProps {
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
}

/** Searches as one types. Several pasted lines are looked up as whole keys and names instead. */
function Search({ query, onQuery }: SearchProps) {
  const words = useWords();
  const paste = (event: ClipboardEvent) => {
    const lines = (event.clipboardData?.getData('text') ?? '')
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== '');
    if (lines.length < 2) return;
    event.preventDefault();
    onQuery({ kind: 'lines', lines });
  };
  const clear = (
    <button
      type="button"
      class="icon-button"
      aria-label={words('keys.clearSearch')}
      onClick={() => onQuery(EVERYTHING)}
    >
      <Icon name="close" />
    </button>
  );
  if (query.kind === 'lines') {
    return (
      <div class="search search-lines" role="status" title={words('keys.searchLinesHint')}>
        <Icon name="search" />
        <span>
          {words('keys.searchLines', { n: query.lines.length })}{' '}
          <span class="visually-hidden">{words('keys.searchLinesHint')}</span>
        </span>
        {clear}
      </div>
    );
  }
  const tooLong = query.text.length > LONGEST;
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={words('keys.search')}
        placeholder={words('keys.search')}
        aria-invalid={tooLong}
        aria-describedby="search-problem"
        autocomplete="off"
        spellcheck={false}
        value={query.text}
        onInput={(event) => onQuery({ kind: 'part', text: event.currentTarget.value })}
        onPaste={paste}
      />
      {query.text !== '' && clear}
      <p id="search-problem" class="search-problem" role="status">
        {tooLong ? words('keys.searchLong', { n: query.text.length }) : ''}
      </p>
    </div>
  );
}
