import { useWords } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { Icon } from '../../ui/icon.js';
import type { Reading } from './document.js';

interface ProblemProps {
  readonly reading: Reading;
  /** Goes to a line and column of the text, both from 1; absent where the text is not shown. */
  readonly onJump?: (line: number, column: number) => void;
}

/** Whether the text is a configuration, or what is wrong with it and where. */
export function Problem({ reading, onJump }: ProblemProps) {
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
      <Icon name="warning" /> {text}{' '}
      {onJump !== undefined && typeof problem !== 'string' && (
        <Button kind="small" onClick={() => onJump(problem.line, problem.column)}>
          {words('config.jump')}
        </Button>
      )}
    </p>
  );
}
