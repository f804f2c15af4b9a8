import { useWords } from '../../i18n/text.js';
import type { NamedKey } from '../../state/named-keys.js';
import { Button, IconButton } from '../../ui/button.js';
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
        <Button kind="small" onClick={onShow}>
          {words('keys.notShown', { n: unseen })}
        </Button>
      )}
      <Button icon="gauge" onClick={() => onDo('limit')}>
        {words('keys.limit')}
      </Button>
      <Button icon="reset" onClick={() => onDo('reset')}>
        {words('key.reset')}
      </Button>
      <Handout keys={chosen} />
      <Button kind="quiet-danger" icon="trash" onClick={() => onDo('delete')}>
        {words('key.delete')}
      </Button>
      <span class="grow" />
      <IconButton icon="close" label={words('keys.unselect')} tip onClick={onClear} />
    </div>
  );
}
