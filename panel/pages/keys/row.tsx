import type { ComponentChildren } from 'preact';
import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { type Column, titleOf } from '../../state/key-list.js';
import { hrefOf } from '../../state/route.js';
import { visible } from '../../text/visible.js';
import { IconButton } from '../../ui/button.js';
import type { IconName } from '../../ui/icon.js';
import { LimitSize, Size } from '../../ui/size.js';
import { Status, Usage, UsedOfLimit } from './quota.js';

/** The actions on one key of the list. */
export interface RowActions {
  readonly onOpen: (key: string) => void;
  /** Copies the key's share link. */
  readonly onCopy: (key: string) => void;
  readonly onEdit: (key: string) => void;
  readonly onDelete: (key: string) => void;
}

interface RowProps extends RowActions {
  readonly user: User;
  readonly index: number;
  readonly top: number;
  readonly active: boolean;
  readonly selected: boolean;
  /** Drawn for a phone: in two lines. */
  readonly narrow: boolean;
  /** Its deletion is confirmed and can still be taken back. */
  readonly leaving: boolean;
  /** Ticks or unticks this row, or with `range` all from the last ticked one to it. */
  readonly onTick: (index: number, on: boolean, range: boolean) => void;
}

/** Characters of a name or key that a row draws: more would never be seen. */
const SHOWN = 160;

export function KeyRow(props: RowProps) {
  const { user, index, top, active, selected, leaving, narrow } = props;
  const words = useWords();
  const key = user.access_key;
  const classes = ['row', active ? 'row-active' : '', selected ? 'row-selected' : '', leaving ? 'row-leaving' : ''];
  const title = titleOf(user).slice(0, SHOWN);
  const open = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest('a,input,button') !== null) return;
    if (window.getSelection()?.isCollapsed === false) return;
    props.onOpen(key);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid around the rows takes the keys
    <div
      id={`row-${index}`}
      class={classes.join(' ')}
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      aria-selected={selected}
      style={{ transform: `translateY(${top}px)` }}
      onClick={open}
    >
      <Cell of="check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={words('keys.select', { name: title })}
          checked={selected}
          onClick={(event) => props.onTick(index, event.currentTarget.checked, event.shiftKey)}
        />
      </Cell>
      {!narrow && (
        <Cell of="status">
          <Status user={user} />
        </Cell>
      )}
      {narrow ? <PhoneFacts {...props} title={title} /> : <Facts {...props} title={title} />}
    </div>
  );
}

type RowPart = RowProps & { readonly title: string };

/** A line of the table. */
function Facts(props: RowPart) {
  const words = useWords();
  const { user } = props;
  return (
    <>
      <NameCell {...props} />
      <KeyCell {...props} />
      <Cell of="down">
        <Size bytes={user.bytes_down} />
      </Cell>
      <Cell of="up">
        <Size bytes={user.bytes_up} />
      </Cell>
      <Cell of="used">
        <span class="used-of">
          <UsedOfLimit user={user} />
        </span>
        <Usage user={user} />
      </Cell>
      <Cell of="limit">
        {user.limit_bytes === null ? (
          <span class="quiet">{words('keys.unlimited')}</span>
        ) : (
          <LimitSize bytes={user.limit_bytes} />
        )}
      </Cell>
      <Cell of="connections">{String(user.connections)}</Cell>
      <ActionsCell {...props} />
    </>
  );
}

/** The same on a phone: the name with what is used of which limit, and below it the state and what can be done. */
function PhoneFacts(props: RowPart) {
  const { user } = props;
  return (
    <>
      <NameCell {...props} />
      <ActionsCell {...props} />
      <div class="row-facts" role="presentation">
        <Cell of="status">
          <Status user={user} />
        </Cell>
        <Cell of="used">
          <UsedOfLimit user={user} />
        </Cell>
        {user.limit_bytes !== null && (
          <Cell of="bar">
            <Usage user={user} />
          </Cell>
        )}
      </div>
    </>
  );
}

/** The name; the stylesheet shows the key in its place where there is no name and no column of keys. */
function NameCell({ user, narrow }: RowPart) {
  const words = useWords();
  const name = visible((user.name ?? '').slice(0, SHOWN));
  const noName = user.name === undefined ? words('keys.untold') : words('keys.unnamed');
  return (
    <Cell of="name">
      <a
        href={hrefOf('keys', user.access_key)}
        tabIndex={-1}
        dir="auto"
        class={name === '' ? 'unnamed' : ''}
        title={user.name === undefined ? words('absent.names') : name}
      >
        {name === '' ? (
          <>
            <span class="no-name">{noName}</span>
            <span class="mono">{visible(user.access_key.slice(0, SHOWN))}</span>
          </>
        ) : (
          name
        )}
      </a>
      {user.note && !narrow && <span class="quiet no-print"> {visible(user.note.slice(0, SHOWN))}</span>}
    </Cell>
  );
}

function KeyCell({ user }: RowPart) {
  const key = visible(user.access_key.slice(0, SHOWN));
  return (
    <Cell of="key" title={key}>
      {key}
    </Cell>
  );
}

function ActionsCell({ user, title, onOpen, onCopy, onEdit }: RowPart) {
  const words = useWords();
  const key = user.access_key;
  const action = (icon: IconName, label: string, act: () => void) => (
    <IconButton icon={icon} label={`${label}: ${title}`} title={label} tabIndex={-1} onClick={act} />
  );
  return (
    <Cell of="actions">
      {action('copy', words('key.copyLink'), () => onCopy(key))}
      {action('qr', words('key.showQr'), () => onOpen(key))}
      {action('edit', words('key.edit'), () => onEdit(key))}
    </Cell>
  );
}

interface CellProps {
  readonly of: Column | 'actions' | 'bar' | 'check';
  readonly title?: string;
  readonly children: ComponentChildren;
}

function Cell({ of, title, children }: CellProps) {
  return (
    <div class={`cell cell-${of}`} role="gridcell" title={title}>
      {children}
    </div>
  );
}
