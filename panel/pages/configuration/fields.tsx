import { useWords } from '../../i18n/text.js';
import { flag, flagOf, type JsonNode, text, textOf, withValue } from '../../text/json-tree.js';
import { Field, NumberField, Switch, TextField, VERBATIM } from '../../ui/field.js';
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
export function Line({ tree, path, onChange, ...field }: MemberProps) {
  const change = (value: string) => onChange(withValue(tree, path, text(value)));
  return <TextField {...VERBATIM} {...field} value={textOf(valueAt(tree, path))} onType={change} />;
}

/** A member that is a port. What is no number is not taken. */
export function Port({ tree, path, onChange, ...field }: MemberProps) {
  const node = valueAt(tree, path);
  const change = (value: string) =>
    onChange(withValue(tree, path, /^\d+$/.test(value) ? { kind: 'number', lexeme: value } : undefined));
  return <NumberField {...field} most={65_535} value={node?.kind === 'number' ? node.lexeme : ''} onType={change} />;
}

/** A member that is true or false. */
export function Flag({ tree, path, label, onChange }: MemberProps) {
  const change = (on: boolean) => onChange(withValue(tree, path, flag(on)));
  return <Switch label={label} checked={flagOf(valueAt(tree, path))} onChange={change} />;
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
