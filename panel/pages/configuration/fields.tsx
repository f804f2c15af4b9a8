import { useWords } from '../../i18n/text.js';
import { type JsonNode, text, textOf, withValue } from '../../text/json-tree.js';
import { Field } from '../../ui/field.js';
import { type Path, valueAt } from '../file/document.js';

/** A part of the file's form. */
export interface FormProps {
  readonly tree: JsonNode;
  readonly onChange: (tree: JsonNode) => void;
}

interface MemberProps extends FormProps {
  /** Where the member stands in the file. */
  readonly path: Path;
  readonly label: string;
  readonly hint?: string;
}

/** A member that is a text; emptied it stays, as an empty one. */
export function Line({ tree, path, label, hint, onChange }: MemberProps) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          class="mono"
          autocomplete="off"
          spellcheck={false}
          value={textOf(valueAt(tree, path))}
          onInput={(event) => onChange(withValue(tree, path, text(event.currentTarget.value)))}
        />
      )}
    </Field>
  );
}

/** A member that is a port. What is no number is not taken. */
export function Port({ tree, path, label, hint, onChange }: MemberProps) {
  const node = valueAt(tree, path);
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          type="number"
          min={1}
          max={65_535}
          value={node?.kind === 'number' ? node.lexeme : ''}
          onInput={({ currentTarget: { value } }) =>
            onChange(withValue(tree, path, /^\d+$/.test(value) ? { kind: 'number', lexeme: value } : undefined))
          }
        />
      )}
    </Field>
  );
}

interface ChoiceProps extends MemberProps {
  /** What it can be; what the file has besides stays one of the choices. */
  readonly known: readonly string[];
  /** Whether the file may be without it. */
  readonly optional?: boolean;
}

/** A member that is one of a few words. */
export function Choice({ tree, path, label, hint, known, optional = false, onChange }: ChoiceProps) {
  const words = useWords();
  const present = textOf(valueAt(tree, path));
  const choices = [...(optional ? [''] : []), ...known];
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <select
          {...control}
          value={present}
          onChange={({ currentTarget: { value } }) =>
            onChange(withValue(tree, path, value === '' ? undefined : text(value)))
          }
        >
          {(choices.includes(present) ? choices : [present, ...choices]).map((name) => (
            <option key={name} value={name}>
              {name === '' ? words('config.unset') : name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
