import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { isNear, isOver, titleOf, usedBytes, usedPart } from '../../state/key-list.js';
import { hrefOf } from '../../state/route.js';
import { formatSize } from '../../text/sizes.js';
import { Icon } from '../../ui/icon.js';
import { Size } from '../../ui/size.js';

interface RowProps {
  readonly user: User;
  readonly index: number;
  readonly top: number;
  readonly active: boolean;
  readonly selected: boolean;
  /** Its deletion is confirmed and can still be taken back. */
  readonly leaving: boolean;
  readonly onSelect: (keys: readonly string[], on: boolean) => void;
  readonly onOpen: (key: string) => void;
  readonly onCopy: (key: string) => void;
}

/** Characters of a name or key that a row draws: more would never be seen. */
const SHOWN = 160;

export function KeyRow({ user, index, top, active, selected, leaving, onSelect, onOpen, onCopy }: RowProps) {
  const words = useWords();
  const key = user.access_key;
  const classes = ['row', active ? 'row-active' : '', selected ? 'row-selected' : '', leaving ? 'row-leaving' : ''];
  const name = user.name ?? '';
  const noName = user.name === undefined ? words('keys.untold') : words('keys.unnamed');
  const open = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest('a,input,button') !== null) return;
    if (window.getSelection()?.isCollapsed === false) return;
    onOpen(key);
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
      <div class="cell cell-check" role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={words('keys.select', { name: titleOf(user).slice(0, SHOWN) })}
          checked={selected}
          onChange={(event) => onSelect([key], event.currentTarget.checked)}
        />
      </div>
      <div class="cell cell-online" role="gridcell">
        <span class={user.online ? 'dot dot-on' : 'dot'} title={words(user.online ? 'keys.online' : 'keys.offline')} />
        <span class="visually-hidden">{words(user.online ? 'keys.online' : 'keys.offline')}</span>
      </div>
      <div class="cell cell-name" role="gridcell">
        <a
          href={hrefOf('keys', key)}
          tabIndex={-1}
          class={name === '' ? 'unnamed' : ''}
          title={user.name === undefined ? words('absent.names') : name.slice(0, SHOWN)}
        >
          {name === '' ? noName : name.slice(0, SHOWN)}
        </a>
      </div>
      <div class="cell cell-key" role="gridcell" title={key.slice(0, SHOWN)}>
        {key.slice(0, SHOWN)}
        <button
          type="button"
          class="icon-button row-copy"
          tabIndex={-1}
          aria-label={`${words('key.copyLink')}: ${titleOf(user).slice(0, SHOWN)}`}
          title={words('key.copyLink')}
          onClick={() => onCopy(key)}
        >
          <Icon name="copy" />
        </button>
      </div>
      <div class="cell cell-down" role="gridcell">
        <Size bytes={user.bytes_down} />
      </div>
      <div class="cell cell-up" role="gridcell">
        <Size bytes={user.bytes_up} />
      </div>
      <div class="cell cell-used" role="gridcell">
        <Usage user={user} />
      </div>
      <div class="cell cell-limit" role="gridcell">
        {user.limit_bytes === null ? (
          <span class="quiet">{words('keys.unlimited')}</span>
        ) : (
          <Size bytes={user.limit_bytes} />
        )}
      </div>
      <div class="cell cell-connections" role="gridcell">
        {String(user.connections)}
      </div>
    </div>
  );
}

/** How much of the limit is used, as a bar and in per cent. */
export function Usage({ user }: { readonly user: User }) {
  const words = useWords();
  const part = usedPart(user);
  if (part === null || user.limit_bytes === null) return <span class="quiet">—</span>;
  const tone = isOver(user) ? 'usage-over' : isNear(user) ? 'usage-near' : '';
  const used = formatSize(usedBytes(user), words.language);
  const text = words('keys.ofLimit', { used, limit: formatSize(user.limit_bytes, words.language) });
  const percent = new Intl.NumberFormat(words.language, { style: 'percent', maximumFractionDigits: 0 });
  return (
    <span class={`usage ${tone}`} title={text}>
      <span class="usage-bar">
        <span style={{ width: `${Math.min(100, part * 100)}%` }} />
      </span>
      <span class="usage-text">{percent.format(Math.floor(Math.min(part, 99) * 100) / 100)}</span>
    </span>
  );
}
