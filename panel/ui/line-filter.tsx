import { Button } from './button.js';
import { Icon } from './icon.js';

/** The lines of a log that are shown: those with a text in them, and of these perhaps one kind alone. */
export interface LineFilter {
  readonly part: string;
  readonly only: boolean;
}

export const ALL_LINES: LineFilter = { part: '', only: false };

interface LineFilterProps {
  readonly label: string;
  /** The name of the one kind. */
  readonly only: string;
  readonly filter: LineFilter;
  readonly onFilter: (filter: LineFilter) => void;
}

export function LineFilterTools({ label, only, filter, onFilter }: LineFilterProps) {
  return (
    <>
      <div class="line search">
        <Icon name="search" />
        <input
          type="search"
          data-search=""
          aria-label={label}
          placeholder={label}
          value={filter.part}
          onInput={(event) => onFilter({ ...filter, part: event.currentTarget.value })}
        />
      </div>
      <Button aria-pressed={filter.only} onClick={() => onFilter({ ...filter, only: !filter.only })}>
        {only}
      </Button>
    </>
  );
}

/** Returns true where one of the texts has the wanted part in it, in small letters or capitals. */
export function contains({ part }: LineFilter, ...texts: readonly string[]): boolean {
  const wanted = part.trim().toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(wanted));
}
