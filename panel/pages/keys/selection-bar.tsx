import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { Icon } from '../../ui/icon.js';
import { Handout } from './handout.js';

/** What the page does with keys: makes them, or something with those that are selected. */
export type Doing = 'create' | 'bulk' | 'delete' | 'limit' | 'reset';

interface SelectionBarProps {
  readonly chosen: readonly string[];
  readonly byKey: ReadonlyMap<string, User>;
  readonly onDo: (doing: Doing) => void;
  readonly onClear: () => void;
}

/** What can be done with the selected keys, those included that a filter hides just now. */
export function SelectionBar({ chosen, byKey, onDo, onClear }: SelectionBarProps) {
  const words = useWords();
  return (
    <div class="selection">
      <strong>{words('keys.selected', { n: chosen.length })}</strong>
      <button type="button" class="button" onClick={() => onDo('limit')}>
        <Icon name="gauge" /> {words('keys.limit')}
      </button>
      <button type="button" class="button" onClick={() => onDo('reset')}>
        <Icon name="reset" /> {words('key.reset')}
      </button>
      <Handout keys={chosen.map((key) => ({ key, name: byKey.get(key)?.name ?? '' }))} />
      <button type="button" class="button button-quiet-danger" onClick={() => onDo('delete')}>
        <Icon name="trash" /> {words('key.delete')}
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
