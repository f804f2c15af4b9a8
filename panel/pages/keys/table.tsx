import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import type { Sorting } from '../../state/key-list.js';
import { useNarrow, usePrinting } from '../../ui/width.js';
import { KeyRow, type RowActions } from './row.js';
import { TableHead } from './table-head.js';

const HEAD = 36;
/** Rows drawn beyond what is seen, so that scrolling meets no blank ones. */
const SPARE = 14;
/** Rows that are printed. */
const MOST_PRINTED = 10_000;

interface TableProps extends RowActions {
  readonly rows: readonly User[];
  /** The keys of the rows as they are now. */
  readonly byKey: ReadonlyMap<string, User>;
  /** The number of rows that are selected. */
  readonly ticked: number;
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (keys: readonly string[], on: boolean) => void;
  readonly leaving: ReadonlySet<string>;
  readonly grid: RefObject<HTMLDivElement | null>;
}

/** The list of keys; only the rows in sight exist. */
export function KeyTable(props: TableProps) {
  const { rows, grid, selected } = props;
  const words = useWords();
  const narrow = useNarrow();
  const rowHeight = narrow ? 88 : 40;
  const window = useWindow(grid, rows.length, rowHeight);
  const [active, setActive] = useState<string | null>(null);
  useAnchor(grid, rows, rowHeight);
  /** The row that was ticked last, from which Shift takes a range. */
  const ticked = useRef<string | null>(null);
  const activeIndex = active === null ? -1 : indexNear(rows, active, window.first);

  const tick = (index: number, on: boolean, range: boolean) => {
    const last = range && ticked.current !== null ? indexNear(rows, ticked.current, index) : -1;
    const [from, to] = last < 0 ? [index, index] : [Math.min(last, index), Math.max(last, index)];
    ticked.current = rows[index]?.access_key ?? null;
    props.onSelect(
      rows.slice(from, to + 1).map((user) => user.access_key),
      on,
    );
  };
  const moveTo = (index: number) => {
    setActive(rows[index]?.access_key ?? null);
    reveal(grid.current, index, rowHeight);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== grid.current || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      if (event.code !== 'KeyA' || event.shiftKey) return;
      event.preventDefault();
      props.onSelect(
        rows.map((user) => user.access_key),
        true,
      );
      return;
    }
    const to = rowAt(event.key, activeIndex, window, rows.length);
    const current = rows[activeIndex]?.access_key;
    const act = actionOf(event, props);
    if (to !== null) {
      if (event.shiftKey && current !== undefined) {
        if (!selected.has(current)) tick(activeIndex, true, false);
        tick(to, true, true);
      }
      moveTo(to);
    } else if (current === undefined) return;
    else if (event.key === ' ') tick(activeIndex, !selected.has(current), event.shiftKey);
    else if (act !== undefined) act(current);
    else return;
    event.preventDefault();
  };

  return (
    <div
      ref={grid}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={`${words('keys.table')}. ${words('shortcuts.title')}: ?`}
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={activeIndex < 0 ? undefined : `row-${activeIndex}`}
      style={{ height: `${HEAD + rows.length * rowHeight + 2}px` }}
      onKeyDown={onKeyDown}
    >
      {!narrow && <TableHead {...props} />}
      <div class="grid-body" role="rowgroup" style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(window.first, window.last).map((row, offset) => {
          const user = props.byKey.get(row.access_key) ?? row;
          const index = window.first + offset;
          return (
            <KeyRow
              {...props}
              key={user.access_key}
              user={user}
              index={index}
              top={index * rowHeight}
              active={index === activeIndex}
              selected={selected.has(user.access_key)}
              leaving={props.leaving.has(user.access_key)}
              narrow={narrow}
              onTick={tick}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The row that a key of the keyboard leads to from one; null for a key that leads to none. */
function rowAt(key: string, from: number, { top, seen }: Window, count: number): number | null {
  const page = Math.max(1, seen - 1);
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  const step = steps[key];
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return step === undefined ? null : Math.max(0, Math.min(count - 1, from < 0 ? top : from + step));
}

/** The action of a key of the keyboard on a row. Letters are known by their places, so that they are the same in every layout. */
function actionOf({ key, code }: KeyboardEvent, { onOpen, onCopy, onEdit, onDelete }: RowActions) {
  const actions: Record<string, (key: string) => void> = {
    ...{ Enter: onOpen, F2: onEdit, Delete: onDelete },
    ...{ KeyQ: onOpen, KeyE: onEdit, KeyC: onCopy },
  };
  return actions[key] ?? actions[code];
}

interface Window {
  readonly first: number;
  readonly last: number;
  /** The first row in sight, and how many are. */
  readonly top: number;
  readonly seen: number;
}

/** Chooses the rows to draw by the place that the grid is scrolled to. */
function useWindow(grid: RefObject<HTMLDivElement | null>, count: number, rowHeight: number): Window {
  const [view, setView] = useState({ top: 0, height: 900 });
  useLayoutEffect(() => {
    const element = grid.current;
    if (element === null) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  const isPrinting = usePrinting();
  const seen = Math.ceil((view.height - HEAD) / rowHeight);
  const top = Math.min(Math.floor(view.top / rowHeight), Math.max(0, count - 1));
  if (isPrinting) return { first: 0, last: Math.min(count, MOST_PRINTED), top, seen };
  return { first: Math.max(0, top - SPARE), last: Math.min(count, top + seen + SPARE), top, seen };
}

/** Keeps the first row in sight where it is when rows come or go above it. */
function useAnchor(grid: RefObject<HTMLDivElement | null>, rows: readonly User[], rowHeight: number): void {
  const before = useRef<readonly User[]>(rows);
  useLayoutEffect(() => {
    const element = grid.current;
    const earlier = before.current;
    before.current = rows;
    if (element === null || earlier === rows || element.scrollTop === 0) return;
    const index = Math.floor(element.scrollTop / rowHeight);
    const anchor = earlier[index]?.access_key;
    const now = anchor === undefined ? -1 : indexNear(rows, anchor, index);
    if (now >= 0 && now !== index && Math.abs(rows.length - earlier.length) < rows.length) {
      element.scrollTop += (now - index) * rowHeight;
    }
  }, [rows]);
}

/** The row of a key, looked for first where it is likely. */
function indexNear(rows: readonly User[], key: string, near: number): number {
  for (let index = Math.max(0, near - 100); index < Math.min(rows.length, near + 200); index += 1) {
    if (rows[index]?.access_key === key) return index;
  }
  return rows.findIndex((user) => user.access_key === key);
}

function reveal(element: HTMLDivElement | null, index: number, rowHeight: number): void {
  if (element === null) return;
  const top = index * rowHeight;
  const bottom = top + rowHeight + HEAD - element.clientHeight;
  if (element.scrollTop > top) element.scrollTop = top;
  else if (element.scrollTop < bottom) element.scrollTop = bottom;
}
