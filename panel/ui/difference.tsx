import { useMemo } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { type DiffLine, diffLines, hunks } from '../text/line-diff.js';
import { Button } from './button.js';
import { Notice } from './notice.js';
import { Scrolls } from './page.js';

/** Lines of a comparison that are drawn at most. */
const MOST_LINES = 2_000;

interface DifferenceProps {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

/** The difference of two texts line by line, with its size. */
export function Difference({ before, after, label }: DifferenceProps) {
  const words = useWords();
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const shown = useMemo(() => hunks(lines), [lines]);
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return (
    <>
      <p class="hint">{words('config.lines', { added: count('added'), removed: count('removed') })}</p>
      <Scrolls class="scroller diff" label={label}>
        {shown.slice(0, MOST_LINES).map((line, index) => (
          <DiffRow key={line === null ? `gap${index}` : `${line.before}:${line.after}`} line={line} />
        ))}
      </Scrolls>
    </>
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

interface MeanwhileProps {
  readonly before: string;
  readonly now: string;
  readonly isBusy: boolean;
  readonly onTheirs: () => void;
  readonly onMine: () => void;
}

/** The changes that somebody else has made since an edit began, and the choice between them and the edit. */
export function Meanwhile({ before, now, isBusy, onTheirs, onMine }: MeanwhileProps) {
  const words = useWords();
  return (
    <>
      <Notice tone="warn" urgent>
        <strong>{words('meanwhile.changed')}</strong> {words('meanwhile.text')}
      </Notice>
      <Difference before={before} after={now} label={words('meanwhile.title')} />
      <div class="line copy-line">
        <Button onClick={onTheirs}>{words('meanwhile.theirs')}</Button>
        <Button aria-disabled={isBusy} onClick={onMine}>
          {words('meanwhile.mine')}
        </Button>
      </div>
    </>
  );
}
