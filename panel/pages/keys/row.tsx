import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { sentence, useWords, type Words } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { type Column, isConnected, statusOf, titleOf, usedBytes, usedPart } from '../../state/key-list.js';
import { labelOf } from '../../state/named-keys.js';
import { hrefOf } from '../../state/route.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import type { Whole } from '../../text/exact-json.js';
import { numberFormat } from '../../text/number-format.js';
import { formatLimit, formatSize, isDecimal, readLimit } from '../../text/sizes.js';
import { visible } from '../../text/visible.js';
import { Button, IconButton } from '../../ui/button.js';
import type { IconName } from '../../ui/icon.js';
import { LimitSize, Size } from '../../ui/size.js';
import { limitText, raised } from './limit-field.js';
import { changeKey } from './save-key.js';

/** The actions on one key of the list. */
export interface RowActions {
  readonly onOpen: (key: string) => void;
  /** Copies the key's share link. */
  readonly onCopy: (key: string) => void;
  /** Edits name and limit in the row; null ends that. */
  readonly onEdit: (key: string | null) => void;
  readonly onDelete: (key: string) => void;
}

interface RowProps extends RowActions {
  readonly user: User;
  readonly index: number;
  readonly top: number;
  readonly active: boolean;
  readonly selected: boolean;
  readonly editing: boolean;
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
  const { user, index, top, active, selected, leaving, editing, narrow } = props;
  const words = useWords();
  const key = user.access_key;
  const classes = ['row', active ? 'row-active' : '', selected ? 'row-selected' : '', leaving ? 'row-leaving' : ''];
  const title = titleOf(user).slice(0, SHOWN);
  const open = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest('a,input,button,form') !== null) return;
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
      {editing ? (
        <Cell of="edit">
          <RowEdit user={user} onClose={() => props.onEdit(null)} />
        </Cell>
      ) : narrow ? (
        <PhoneFacts {...props} title={title} />
      ) : (
        <Facts {...props} title={title} />
      )}
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

/** The same on a phone: the name with what is done, and below it the state, the key, and what is used of which limit. */
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
        <KeyCell {...props} />
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

function NameCell({ user }: RowPart) {
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
        {name === '' ? noName : name}
      </a>
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
  readonly of: Column | 'actions' | 'bar' | 'check' | 'edit';
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

/** The one word for a key's quota, its colour, and a dot while the key is online. */
export function Status({ user }: { readonly user: User }) {
  const words = useWords();
  const status = words(`keys.status.${statusOf(user)}`);
  const online = words('keys.status.online');
  return (
    <>
      <span class={`status status-${statusOf(user)}`} title={status}>
        {status}
      </span>
      {isConnected(user) && <span class="status-online" role="img" aria-label={online} title={online} />}
    </>
  );
}

/** The used bytes beside the limit, in its units. */
function usedOfLimit(user: User, limit: Whole, words: Words): string {
  const used = formatSize(usedBytes(user), words.language, isDecimal(limit));
  return words('keys.ofLimit', { used, limit: formatLimit(limit, words.language) });
}

function UsedOfLimit({ user }: { readonly user: User }) {
  const words = useWords();
  if (user.limit_bytes !== null) return <>{usedOfLimit(user, user.limit_bytes, words)}</>;
  return (
    <>
      <Size bytes={usedBytes(user)} /> <span class="quiet">· {words('keys.unlimited')}</span>
    </>
  );
}

/** The used part of the limit, as a bar and in per cent. */
export function Usage({ user }: { readonly user: User }) {
  const words = useWords();
  const part = usedPart(user);
  if (part === null || user.limit_bytes === null) return <span class="quiet">—</span>;
  const status = statusOf(user);
  const tone = status === 'over' || status === 'near' ? `usage-${status}` : '';
  const text = usedOfLimit(user, user.limit_bytes, words);
  const percent = numberFormat(words.language, { style: 'percent', maximumFractionDigits: 0 });
  return (
    <span class={`usage ${tone}`} title={text}>
      <span class="usage-bar">
        <span style={{ width: `${Math.min(100, part * 100)}%` }} />
      </span>
      <span class="usage-text">{percent.format(Math.floor(Math.min(part, 99) * 100) / 100)}</span>
    </span>
  );
}

interface RowEditProps {
  readonly user: User;
  readonly onClose: () => void;
}

/** Name and limit of a key, edited where they stand. Enter saves, Escape leaves them as they were. */
function RowEdit({ user, onClose }: RowEditProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const [name, setName] = useState(user.name ?? '');
  const [limit, setLimit] = useState(() => limitText(user.limit_bytes, words.language));
  const [busy, setBusy] = useState(false);
  const reading = readLimit(limit, 'GiB');
  const label = labelOf({ key: user.access_key, name: user.name ?? '' });
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy || !reading.ok) return;
    setBusy(true);
    try {
      await changeKey(workspace, user, { ...(user.name === undefined ? {} : { name }), limit: reading.bytes });
      await workspace.contact.now();
      say({ tone: 'good', text: words('edit.saved', { name: labelOf({ key: user.access_key, name }) }) });
      onClose();
    } catch (problem) {
      note(workspace, 'updateKey', false);
      say({ tone: 'bad', text: words('failed.save', { name: label, why: sentence(problem, words) }) });
      setBusy(false);
    }
  };
  return (
    <form
      class="row-edit"
      onSubmit={save}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onClose();
      }}
    >
      <input
        class="grow"
        aria-label={words('keys.name')}
        placeholder={words(user.name === undefined ? 'keys.untold' : 'keys.name')}
        title={user.name === undefined ? words('absent.names') : undefined}
        disabled={user.name === undefined}
        autocomplete="off"
        maxLength={10_000}
        value={name}
        ref={focusOnce}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <input
        class="row-edit-limit"
        aria-label={words('keys.limit')}
        aria-invalid={!reading.ok}
        title={reading.ok ? words('edit.limitHint') : words(`edit.limit.${reading.problem}`)}
        placeholder={words('keys.unlimited')}
        autocomplete="off"
        value={limit}
        onInput={(event) => setLimit(event.currentTarget.value)}
      />
      <Button
        kind="small"
        off={!reading.ok && words(`edit.limit.${reading.problem}`)}
        onClick={() => reading.ok && setLimit(limitText(raised(reading.bytes), words.language))}
      >
        {words('edit.more')}
      </Button>
      <Button type="submit" kind="small button-primary" aria-disabled={busy}>
        {words('action.save')}
      </Button>
      <IconButton icon="close" label={words('action.cancel')} onClick={onClose} />
    </form>
  );
}

/** Selects the text as the field appears, and not at every later drawing. */
function focusOnce(input: HTMLInputElement | null): void {
  if (input === null || input.dataset.focused !== undefined) return;
  input.dataset.focused = '';
  if (!input.disabled) input.select();
}
