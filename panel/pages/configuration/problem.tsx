import { useWords } from '../../i18n/text.js';
import { Icon } from '../../ui/icon.js';
import type { Reading } from './document.js';

/** Whether the text is a configuration, or what is wrong with it and where. */
export function Problem({ reading }: { readonly reading: Reading }) {
  const words = useWords();
  if (reading.ok) {
    return (
      <p id="config-problem" class="hint hint-good" role="status">
        <Icon name="check" /> {words('config.valid')}
      </p>
    );
  }
  const { problem } = reading;
  const text =
    typeof problem === 'string'
      ? words(`config.${problem}`)
      : words(`config.json.${problem.kind}`, {
          line: String(problem.line),
          column: String(problem.column),
          found: problem.found,
        });
  return (
    <p id="config-problem" class="hint hint-bad" role="alert">
      <Icon name="warning" /> {text}
    </p>
  );
}
