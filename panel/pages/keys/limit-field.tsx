import {
  formatExact,
  type LimitReading,
  OFFERED_UNITS,
  readLimit,
  splitLimit,
  type Unit,
  unitName,
} from '../../../src/text/sizes.js';
import { useWords, type Words } from '../../i18n/text.js';
import { lastUnitOf, type limitOf, raised } from '../../state/limits.js';
import { useWorkspace } from '../../state/workspace.js';
import { Button } from '../../ui/button.js';
import { Field, Select } from '../../ui/field.js';

type Limit = ReturnType<typeof limitOf>;

interface LimitFieldProps extends Limit {
  readonly autofocus?: boolean;
  /** A hint, and a mistake, besides those of what is typed. */
  readonly hint?: string;
  readonly problem?: string | null;
  /** Puts ten more of a unit on top in another way than by the field alone. */
  readonly onMore?: (unit: Unit) => void;
}

/** A traffic limit with its unit. Says the exact bytes as they are typed, and why something is no limit. */
export function LimitField({
  draft,
  setDraft,
  reading,
  autofocus = false,
  hint,
  problem = null,
  onMore,
}: LimitFieldProps) {
  const words = useWords();
  const lastUnit = lastUnitOf(useWorkspace());
  const unit = reading.ok ? reading.unit : draft.unit;
  const type = (amount: string) => {
    setDraft({ ...draft, amount });
    const typed = readLimit(amount, draft.unit);
    if (typed.ok && typed.unit !== draft.unit) lastUnit.set(typed.unit);
  };
  const choose = (chosen: Unit) => {
    // A unit that was typed would win over it.
    const amount = reading.ok ? draft.amount.replace(/\s*\p{L}+\s*$/u, '') : draft.amount;
    setDraft({ amount, unit: chosen });
    lastUnit.set(chosen);
  };
  const raise = () => {
    if (onMore !== undefined) onMore(unit);
    else if (reading.ok) setDraft(splitLimit(raised(reading.bytes, unit), unit));
  };
  return (
    <Field
      label={words('keys.limit')}
      hint={[hint, hintOf(reading, words, hint === undefined)].filter(Boolean).join(' ')}
      problem={reading.ok ? problem : words(`edit.limit.${reading.problem}`)}
    >
      {(control) => (
        <span class="joined">
          <input
            {...control}
            class="grow"
            autocomplete="off"
            data-autofocus={autofocus ? '' : undefined}
            value={draft.amount}
            placeholder={words('keys.unlimited')}
            onInput={(event) => type(event.currentTarget.value)}
          />
          <Select
            aria-label={words('edit.unit')}
            names={OFFERED_UNITS.includes(unit) ? OFFERED_UNITS : [...OFFERED_UNITS, unit]}
            value={unit}
            onChoose={choose}
          >
            {(name) => unitName(name, words.language)}
          </Select>
          <Button off={!reading.ok && words(`edit.limit.${reading.problem}`)} onClick={raise}>
            {words('edit.more', { unit: unitName(unit, words.language) })}
          </Button>
        </span>
      )}
    </Field>
  );
}

function hintOf(reading: LimitReading, words: Words, mayBeEmpty: boolean): string {
  if (!reading.ok || reading.bytes === null) return mayBeEmpty ? words('edit.limitHint') : '';
  return words(reading.rounded ? 'edit.limitRounded' : 'edit.limitIs', {
    n: formatExact(reading.bytes, words.language),
  });
}
