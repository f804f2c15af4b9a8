import { useMemo } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { useTask } from '../../state/tasks.js';
import { type DiffLine, diffLines, hunks } from '../../text/line-diff.js';
import { ConflictChoices } from '../../ui/conflicts.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Scrolls } from '../../ui/page.js';
import { textOfFile } from './content.js';
import { waitsForChoice } from './save-plan.js';
import type { FileEditing } from './use-file.js';
import type { OpenReview } from './use-review.js';

/** Lines of a comparison that are drawn at most. */
const MOST_LINES = 2_000;

/** The difference line by line, before anything is saved, and the fields that were changed on the server, too. */
export function Review({ review, file }: { readonly review: OpenReview; readonly file: FileEditing }) {
  const words = useWords();
  const saving = useTask();
  const { present, plan, choices, changedMeanwhile, keysGone, credentials } = review;
  const { fields } = plan;
  const lines = useMemo(() => diffLines(textOfFile(present.content), textOfFile(plan.after)), [present, plan]);
  const shown = useMemo(() => hunks(lines), [lines]);
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return (
    <Dialog title={words('config.reviewTitle')} kind="wide" onClose={file.closeReview}>
      <div class="dialog-body">
        <Failure of={saving.error} urgent />
        {changedMeanwhile && (
          <Notice tone={fields === null ? 'warn' : 'plain'} urgent>
            <strong>{words('config.meanwhile')}</strong>{' '}
            {words(fields === null ? 'config.meanwhileText' : 'config.meanwhileStays')}
          </Notice>
        )}
        {fields !== null && <ConflictChoices conflicts={fields.conflicts} choices={choices} onChoose={file.choose} />}
        {keysGone > 0 && <Notice tone="warn">{words('config.keysGone', { n: keysGone })}</Notice>}
        {credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${credentials}`)}</Notice>}
        <p class="hint">
          {words('config.lines', { added: count('added'), removed: count('removed') })}.{' '}
          {words(fields === null ? 'config.comments' : 'config.fields')}
        </p>
        <Scrolls class="diff" label={words('config.reviewTitle')}>
          {shown.slice(0, MOST_LINES).map((line, index) => (
            <DiffRow key={line === null ? `gap${index}` : `${line.before}:${line.after}`} line={line} />
          ))}
        </Scrolls>
      </div>
      <DialogFoot
        onClose={file.closeReview}
        off={waitsForChoice(plan, choices) && words('off.choose')}
        aria-disabled={saving.busy}
        data-autofocus=""
        onClick={() => saving.run(file.save)}
      >
        {words('config.save')}
      </DialogFoot>
    </Dialog>
  );
}

const SIGN = { same: ' ', added: '+', removed: '−' } as const;

function DiffRow({ line }: { readonly line: DiffLine | null }) {
  if (line === null) return <div class="diff-gap">…</div>;
  return (
    <div class={`diff-line diff-${line.kind}`}>
      <span class="diff-number">{line.before ?? ''}</span>
      <span class="diff-number">{line.after ?? ''}</span>
      <span class="diff-sign">{SIGN[line.kind]}</span>
      <code>{line.text}</code>
    </div>
  );
}
