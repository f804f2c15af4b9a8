import { useState } from 'preact/hooks';
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

/** A limit as one text, exactly: `1.5 GiB`, and nothing for none. */
export function limitText(limit: Whole | null, language: string): string {
  if (limit === null) return '';
  const { amount, unit } = splitLimit(limit);
  return `${amount} ${unitName(unit, language)}`;
}

const MORE = 10n * 1024n ** 3n;

/** The limit with 10 GiB more, at most the largest there is. */
export function raised(limit: Whole | null): Whole {
  const more = BigInt(limit ?? 0) + MORE;
  return narrow(more < 2n ** 64n ? more : 2n ** 64n - 1n);
}

/** The draft of a limit field and what it reads as. */
export function useLimit(initial: Whole | null) {
  const [draft, setDraft] = useState(() => limitDraft(initial));
  return { draft, setDraft, reading: readLimit(draft.amount, draft.unit) };
}

type Limit = ReturnType<typeof useLimit>;

/** A traffic limit with its unit. Says the exact bytes as they are typed, and why something is no limit. */
export function LimitField({ draft, setDraft, reading, autofocus = false }: Limit & { readonly autofocus?: boolean }) {
  const words = useWords();
  return (
    <Field
      label={words('keys.limit')}
      hint={hintOf(reading, words)}
      problem={reading.ok ? null : words(`edit.limit.${reading.problem}`)}
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
          <Button disabled={!reading.ok} onClick={() => reading.ok && setDraft(splitLimit(raised(reading.bytes)))}>
            {words('edit.more')}
          </Button>
        </span>
      )}
    </Field>
  );
}

function hintOf(reading: LimitReading, words: Words): string {
  if (!reading.ok || reading.bytes === null) return words('edit.limitHint');
  return words(reading.rounded ? 'edit.limitRounded' : 'edit.limitIs', {
    n: formatExact(reading.bytes, words.language),
  });
}
