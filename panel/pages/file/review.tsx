import { useMemo, useState } from 'preact/hooks';
import { sentence, useWords } from '../../i18n/text.js';
import { type DiffLine, diffLines, hunks } from '../../text/line-diff.js';
import { Dialog } from '../../ui/dialog.js';
import { Notice } from '../../ui/notice.js';
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
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const shown = useMemo(() => hunks(lines), [lines]);
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  const save = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await onSave();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={words('config.reviewTitle')} kind="wide" onClose={onClose}>
      <div class="dialog-body">
        {error !== null && (
          <Notice tone="bad" urgent>
            {sentence(error, words)}
          </Notice>
        )}
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
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
        <div class="diff" tabIndex={0} role="region" aria-label={words('config.reviewTitle')}>
          {shown.slice(0, MOST_LINES).map((line, index) => (
            <DiffRow key={line === null ? `gap${index}` : `${line.before}:${line.after}`} line={line} />
          ))}
        </div>
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          {words('action.cancel')}
        </button>
        <button type="button" class="button button-primary" aria-disabled={busy} data-autofocus="" onClick={save}>
          {words('config.save')}
        </button>
      </footer>
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
