import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

interface Labelled {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** The mistake in what is typed, or null. */
  readonly problem?: string | null;
}

interface FieldProps extends Labelled {
  /** Gets the id for the control and what describes it. */
  readonly children: (control: ControlProps) => ComponentChildren;
}

export interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid': boolean;
}

/** A labelled control with its hint, and with what is wrong said beside it. */
export function Field({ label, hint, problem = null, children }: FieldProps) {
  const id = useId();
  const described = `${id}-hint`;
  return (
    <div class={problem === null ? 'field' : 'field field-bad'}>
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': problem !== null })}
      <p id={described} class="hint" role={problem === null ? undefined : 'alert'}>
        {problem ?? hint}
      </p>
    </div>
  );
}

/**
 * Puts the caret back into a form that was refused, as soon as it is drawn: into the first field that is marked, else into
 * its first field where the focus has gone with what had it. Drawing is a microtask that is queued already: one more comes
 * behind it, and before the next thing that somebody types.
 */
export function focusMistake(form: HTMLFormElement | null): void {
  queueMicrotask(() => {
    if (form?.isConnected !== true) return;
    const marked = form.querySelector<HTMLElement>('[aria-invalid="true"]');
    const first = form.contains(document.activeElement) ? null : form.querySelector<HTMLElement>('input,textarea');
    (marked ?? first)?.focus();
  });
}

interface Typed {
  readonly value: string;
  readonly onType: (value: string) => void;
}

/** The attributes that steer typing. */
type Typing = Pick<
  InputHTMLAttributes,
  | 'autocapitalize'
  | 'autocomplete'
  | 'class'
  | 'disabled'
  | 'inputMode'
  | 'maxLength'
  | 'name'
  | 'placeholder'
  | 'spellcheck'
>;

/** Attributes of a field for what is no prose: addresses, names, keys. */
export const VERBATIM = { class: 'mono', spellcheck: false } as const;

/** A field of one line. */
export function TextField({ label, hint, problem = null, onType, ...rest }: Labelled & Typed & Typing) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(control) => (
        <input autocomplete="off" {...rest} {...control} onInput={(event) => onType(event.currentTarget.value)} />
      )}
    </Field>
  );
}

/** A field of several lines, each of them a thing of its own. */
export function LinesField({
  label,
  hint,
  problem = null,
  onType,
  ...rest
}: Labelled & Typed & Typing & { readonly rows: number }) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(control) => (
        <textarea {...VERBATIM} {...rest} {...control} onInput={(event) => onType(event.currentTarget.value)} />
      )}
    </Field>
  );
}

interface NumberFieldProps extends Omit<Labelled, 'problem'>, Typed {
  readonly most: number;
  readonly placeholder?: string;
}

/** A field for a number from 1. */
export function NumberField({ label, hint, most, onType, ...rest }: NumberFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          {...rest}
          type="number"
          min={1}
          max={most}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectProps<T extends string> extends Partial<ControlProps> {
  readonly names: readonly T[];
  readonly value: T;
  readonly onChoose: (name: T) => void;
  readonly class?: string;
  readonly 'aria-label'?: string;
  /** Returns the words of each. */
  readonly children: (name: T) => string;
}

/** A menu of which one is chosen. */
export function Select<T extends string>({ names, onChoose, children, ...rest }: SelectProps<T>) {
  const choose = (value: string) => {
    const name = names.find((known) => known === value);
    if (name !== undefined) onChoose(name);
  };
  return (
    <select {...rest} onChange={(event) => choose(event.currentTarget.value)}>
      {names.map((name) => (
        <option key={name} value={name}>
          {children(name)}
        </option>
      ))}
    </select>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** A checkbox with its words. */
export function Switch({ label, hint, checked, onChange }: SwitchProps) {
  const id = useId();
  return (
    <div class="switch">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}
