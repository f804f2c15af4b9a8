import { useWords } from '../../i18n/text.js';
import type { NamedKey } from '../../state/named-keys.js';
import { Icon } from '../../ui/icon.js';
import { Handout } from './handout.js';

/** What the page does with keys: makes them, or something with those that are selected. */
export type Doing = 'create' | 'bulk' | 'import' | 'delete' | 'limit' | 'reset';

interface SelectionBarProps {
  readonly chosen: readonly NamedKey[];
  /** How many of them the list does not show just now. */
  readonly unseen: number;
  readonly onDo: (doing: Doing) => void;
  readonly onClear: () => void;
  readonly onShow: () => void;
}

/** What can be done with the selected keys. It has its place below the list from the beginning, so that nothing moves. */
export function SelectionBar({ chosen, unseen, onDo, onClear, onShow }: SelectionBarProps) {
  const words = useWords();
  if (chosen.length === 0) return <p class="selection selection-none hint">{words('keys.selectHint')}</p>;
  return (
    <div class="selection" role="toolbar" aria-label={words('keys.selected', { n: chosen.length })}>
      <strong role="status">{words('keys.selected', { n: chosen.length })}</strong>
      {unseen > 0 && (
        <button type="button" class="button button-small" onClick={onShow}>
          {words('keys.notShown', { n: unseen })}
        </button>
      )}
      <button type="button" class="button" onClick={() => onDo('limit')}>
        <Icon name="gauge" /> <span>{words('keys.limit')}</span>
      </button>
      <button type="button" class="button" onClick={() => onDo('reset')}>
        <Icon name="reset" /> <span>{words('key.reset')}</span>
      </button>
      <Handout keys={chosen} />
      <button type="button" class="button button-quiet-danger" onClick={() => onDo('delete')}>
        <Icon name="trash" /> <span>{words('key.delete')}</span>
      </button>
      <span class="grow" />
      <button
        type="button"
        class="icon-button"
        aria-label={words('keys.unselect')}
        title={words('keys.unselect')}
        onClick={onClear}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}
