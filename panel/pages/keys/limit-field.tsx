import { useWords, type Words } from '../../i18n/text.js';
import { narrow, type Whole } from '../../text/exact-json.js';
import { formatExact, type LimitReading, readLimit, splitLimit, UNITS, type Unit, unitName } from '../../text/sizes.js';
import { Button } from '../../ui/button.js';
import { Field, Select } from '../../ui/field.js';

/** The content of a limit field. */
export interface LimitDraft {
  readonly amount: string;
  readonly unit: Unit;
}

export function limitDraft(limit: Whole | null): LimitDraft {
  return limit === null ? { amount: '', unit: 'GiB' } : splitLimit(limit);
}

/** The draft as one text, such as `1.5 GiB`; an amount that names its unit itself stays as it was typed. */
export function limitText({ amount, unit }: LimitDraft, language: string): string {
  return amount === '' || /\p{L}/u.test(amount) ? amount : `${amount} ${unitName(unit, language)}`;
}

const MORE = 10n * 1024n ** 3n;

/** The limit with 10 GiB more, at most the largest there is. */
export function raised(limit: Whole | null): Whole {
  const more = BigInt(limit ?? 0) + MORE;
  return narrow(more < 2n ** 64n ? more : 2n ** 64n - 1n);
}

/** The draft of a limit field and what it reads as. */
export function limitOf(draft: LimitDraft, setDraft: (draft: LimitDraft) => void) {
  return { draft, setDraft, reading: readLimit(draft.amount, draft.unit) };
}

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
