import { useMemo } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { useTask } from '../../state/tasks.js';
import { type DiffLine, diffLines, hunks } from '../../text/line-diff.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Scrolls } from '../../ui/page.js';
import type { OpenReview } from './use-file.js';

interface ReviewProps extends OpenReview {
  readonly onClose: () => void;
  /** Rejects when it could not be saved. */
  readonly onSave: () => Promise<void>;
}

/** Lines of a comparison that are drawn at most. */
const MOST_LINES = 2_000;

/** The difference line by line, before anything is saved. */
export function Review({ before, after, changedMeanwhile, keysGone, credentials, onClose, onSave }: ReviewProps) {
  const words = useWords();
  const saving = useTask();
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const shown = useMemo(() => hunks(lines), [lines]);
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return (
    <Dialog title={words('config.reviewTitle')} kind="wide" onClose={onClose}>
      <div class="dialog-body">
        <Failure of={saving.error} urgent />
        {changedMeanwhile && (
          <Notice tone="warn" urgent>
            <strong>{words('config.meanwhile')}</strong> {words('config.meanwhileText')}
          </Notice>
        )}
        {keysGone > 0 && <Notice tone="warn">{words('config.keysGone', { n: keysGone })}</Notice>}
        {credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${credentials}`)}</Notice>}
        <p class="hint">
          {words('config.lines', { added: count('added'), removed: count('removed') })}. {words('config.comments')}
        </p>
        <Scrolls class="diff" label={words('config.reviewTitle')}>
          {shown.slice(0, MOST_LINES).map((line, index) => (
            <DiffRow key={line === null ? `gap${index}` : `${line.before}:${line.after}`} line={line} />
          ))}
        </Scrolls>
      </div>
      <DialogFoot onClose={onClose}>
        <Button kind="primary" aria-disabled={saving.busy} data-autofocus="" onClick={() => saving.run(onSave)}>
          {words('config.save')}
        </Button>
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
