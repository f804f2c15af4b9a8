import { useId } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import type { Choices, Conflict, Side } from '../text/field-changes.js';
import { type JsonNode, printTree } from '../text/json-tree.js';
import { Notice } from './notice.js';

interface ConflictChoicesProps {
  readonly conflicts: readonly Conflict[];
  readonly choices: Choices;
  readonly onChoose: (conflict: string, side: Side) => void;
}

/** The fields that were changed here and on the server, each with both values, of which one is chosen. */
export function ConflictChoices({ conflicts, choices, onChoose }: ConflictChoicesProps) {
  const words = useWords();
  if (conflicts.length === 0) return null;
  return (
    <>
      <Notice tone="warn" urgent>
        {words('conflict.text', { n: conflicts.length })}
      </Notice>
      {conflicts.map((conflict) => (
        <Choice
          key={conflict.id}
          conflict={conflict}
          chosen={choices.get(conflict.id)}
          onChoose={(side) => onChoose(conflict.id, side)}
        />
      ))}
    </>
  );
}

interface ChoiceProps {
  readonly conflict: Conflict;
  readonly chosen: Side | undefined;
  readonly onChoose: (side: Side) => void;
}

function Choice({ conflict, chosen, onChoose }: ChoiceProps) {
  const words = useWords();
  const group = useId();
  return (
    <fieldset class="conflict">
      <legend class="mono">{conflict.field}</legend>
      {(['mine', 'theirs'] as const).map((side) => (
        <label key={side} class="conflict-side">
          <input type="radio" name={group} checked={chosen === side} onChange={() => onChoose(side)} />
          <span>{words(`conflict.${side}`)}</span>
          <code>{valueText(conflict[side], words('config.unset'))}</code>
        </label>
      ))}
    </fieldset>
  );
}

/** Characters of a value that are shown. */
const MOST = 2_000;

function valueText(value: JsonNode | undefined, none: string): string {
  if (value === undefined) return none;
  const text = value.kind === 'string' ? value.value : printTree(value);
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}
