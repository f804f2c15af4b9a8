import type { User } from '../../api/wire.js';
import { clockTime, useWords, type Words } from '../../i18n/text.js';
import { COLUMN_NAMES, COLUMNS, type Column, type Sorting } from '../../state/key-list.js';
import { Button } from '../../ui/button.js';
import { Select } from '../../ui/field.js';
import { Icon } from '../../ui/icon.js';

/** An order on the screen that is an earlier one, and the way to put it right. */
export interface Stale {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly sortAgain: () => void;
}

/** The order after a press on a column's head. */
export function nextSorting(now: Sorting, column: Column): Sorting {
  return { column, descending: now.column === column ? !now.descending : COLUMNS[column].isRising !== true };
}

interface HeadProps {
  readonly rows: readonly User[];
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
  /** The number of rows that are selected. */
  readonly ticked: number;
  readonly onSelect: (keys: readonly string[], on: boolean) => void;
}

/** The names of the columns, or those that a table has room for. */
function columnLabels(words: Words, areShort = false): Readonly<Record<Column, string>> {
  return {
    status: words('key.status'),
    name: words('keys.label'),
    key: words('keys.key'),
    down: words('side.down'),
    up: words('side.up'),
    used: words('keys.used'),
    limit: words('keys.limit'),
    connections: words(areShort ? 'keys.connections' : 'keys.connectionsLong'),
  };
}

export function TableHead({ rows, sorting, onSort, ticked, onSelect }: HeadProps) {
  const words = useWords();
  const [labels, long] = [columnLabels(words, true), columnLabels(words)];
  return (
    <div class="grid-head" role="rowgroup">
      <div class="row row-head" role="row" aria-rowindex={1}>
        <div class="cell cell-check" role="columnheader">
          <SelectAll rows={rows} ticked={ticked} onSelect={onSelect} />
        </div>
        {COLUMN_NAMES.map((column) => {
          const isUntold = column === 'name' && rows[0]?.name === undefined;
          return (
            <div
              key={column}
              class={isUntold ? 'cell cell-name missing' : `cell cell-${column}`}
              role="columnheader"
              aria-sort={sorting.column !== column ? 'none' : sorting.descending ? 'descending' : 'ascending'}
            >
              <button
                type="button"
                class="sort"
                title={isUntold ? words('absent.names') : long[column]}
                onClick={() => onSort(nextSorting(sorting, column))}
              >
                <span>{labels[column]}</span>
                {sorting.column === column && <Icon name={sorting.descending ? 'down' : 'up'} />}
              </button>
            </div>
          );
        })}
        <div class="cell" role="columnheader">
          <span class="visually-hidden">{words('keys.actions')}</span>
        </div>
      </div>
    </div>
  );
}

/** Says that rows stay where they are although values have moved. */
export function StaleNote({ since, sortAgain }: Stale) {
  const words = useWords();
  return (
    <span class="line hint stale" title={words('keys.sortStaleWhy')}>
      <span>{words('keys.sortStale', { time: clockTime(since, words.language) })}</span>
      <Button kind="small" icon="refresh" shrinks onClick={sortAgain}>
        {words('keys.sortAgain')}
      </Button>
    </span>
  );
}

/** Ticks every row that the list shows, or none of them. */
export function SelectAll({ rows, ticked, onSelect }: Pick<HeadProps, 'rows' | 'ticked' | 'onSelect'>) {
  const words = useWords();
  const all = ticked > 0 && ticked === rows.length;
  return (
    <input
      type="checkbox"
      aria-label={words('keys.selectAll')}
      title={words('keys.selectAll')}
      checked={all}
      indeterminate={ticked > 0 && !all}
      onChange={() =>
        onSelect(
          rows.map((user) => user.access_key),
          !all,
        )
      }
    />
  );
}

/** The same choices for widths at which the stylesheet hides columns, or the table has no head. */
export function SortChoice({ sorting, onSort }: Pick<HeadProps, 'sorting' | 'onSort'>) {
  const words = useWords();
  const labels = columnLabels(words);
  const order = words(sorting.descending ? 'keys.falling' : 'keys.rising');
  return (
    <span class="joined sort-choice">
      <Select
        class="grow"
        aria-label={words('keys.sortBy')}
        names={COLUMN_NAMES}
        value={sorting.column}
        onChoose={(column) => onSort({ column, descending: COLUMNS[column].isRising !== true })}
      >
        {(column) => labels[column]}
      </Select>
      <Button aria-label={order} title={order} onClick={() => onSort(nextSorting(sorting, sorting.column))}>
        <Icon name={sorting.descending ? 'down' : 'up'} />
      </Button>
    </span>
  );
}
