import { useWords, type Words } from '../../i18n/text.js';
import { type limitOf, raised } from '../../state/limits.js';
import { formatExact, type LimitReading, splitLimit, UNITS, unitName } from '../../text/sizes.js';
import { Button } from '../../ui/button.js';
import { Field, Select } from '../../ui/field.js';

type Limit = ReturnType<typeof limitOf>;

interface LimitFieldProps extends Limit {
  readonly autofocus?: boolean;
  /** A hint, and a mistake, besides those of what is typed. */
  readonly hint?: string;
  readonly problem?: string | null;
  /** Puts 10 GiB on top in another way than by the field alone. */
  readonly onMore?: () => void;
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
  const raise = () => {
    if (onMore !== undefined) onMore();
    else if (reading.ok) setDraft(splitLimit(raised(reading.bytes)));
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
            inputMode="decimal"
            autocomplete="off"
            data-autofocus={autofocus ? '' : undefined}
            value={draft.amount}
            placeholder={words('keys.unlimited')}
            onInput={(event) => setDraft({ ...draft, amount: event.currentTarget.value })}
          />
          <Select
            aria-label={words('edit.unit')}
            names={UNITS}
            value={draft.unit}
            onChoose={(unit) => setDraft({ ...draft, unit })}
          >
            {(unit) => unitName(unit, words.language)}
          </Select>
          <Button off={!reading.ok && words(`edit.limit.${reading.problem}`)} onClick={raise}>
            {words('edit.more')}
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
