import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { sentence, useWords } from '../../i18n/text.js';
import { hrefOf } from '../../state/route.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import type { JsonNode } from '../../text/json-tree.js';
import { type DiffLine, diffLines, hunks } from '../../text/line-diff.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { FileButton } from '../../ui/file-button.js';
import { Icon } from '../../ui/icon.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { Page, Scrolls, Unsaved } from '../../ui/page.js';
import type { Reading } from './document.js';
import { type FileEditing, type OpenReview, readingOf } from './use-file.js';

/** The types of a backup of the file. */
export const JSON_FILES = '.json,.jsonc,application/json';

interface FilePageProps {
  readonly file: FileEditing;
  readonly title: string;
  /** False where something typed is wrong: then nothing can be saved. */
  readonly valid: boolean;
  /** Buttons of the page beside those of the file. */
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page that edits the server's file: what is not saved, what became of it, and the way to save it. */
export function FilePage({ file, title, valid, tools, children }: FilePageProps) {
  const words = useWords();
  const { draft, error, dirty, review } = file;
  if (draft === null) {
    return (
      <Page title={title}>
        {error === null ? (
          <Loading text={words('config.loading')} />
        ) : (
          <Notice tone="bad" urgent>
            {words('config.unreadable')} {sentence(error, words)}{' '}
            <Button kind="small" onClick={file.load}>
              {words('login.retry')}
            </Button>{' '}
            <FileButton label={words('config.restore')} accept={JSON_FILES} onFile={file.restore} />
          </Notice>
        )}
      </Page>
    );
  }
  const all = (
    <>
      {dirty && <Unsaved />}
      <span class="grow" />
      {tools}
      {dirty && <Button onClick={file.load}>{words('action.discard')}</Button>}
      <Button kind="primary" disabled={!dirty || !valid} onClick={file.openReview}>
        {words('config.review')}
      </Button>
    </>
  );
  return (
    <Page title={title} tools={all}>
      <Failure of={error} urgent />
      {file.credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${file.credentials}`)}</Notice>}
      {children}
      {review !== null && <Review {...review} onClose={file.closeReview} onSave={file.save} />}
    </Page>
  );
}

interface FromFileProps {
  readonly file: FileEditing;
  readonly title: string;
  readonly valid: boolean;
  readonly tools?: ComponentChildren;
  readonly children: (tree: JsonNode) => ComponentChildren;
}

/** A page for one part of the file, where the server has no operations for it. Says when a change counts. */
export function FromFile({ file, title, valid, tools, children }: FromFileProps) {
  const words = useWords();
  const { place } = useWorkspace();
  const reading = file.draft === null ? null : readingOf(file.draft.now);
  return (
    <FilePage file={file} title={title} valid={valid && reading?.ok === true} tools={reading?.ok === true && tools}>
      <Notice tone="plain">
        {words('config.inFile')} {words(place.keyway === null ? 'config.countsLater' : 'config.countsAtOnce')}
      </Notice>
      {reading?.ok === true ? (
        children(reading.tree)
      ) : (
        <Notice tone="bad">
          {words('config.broken')} <a href={hrefOf('configuration')}>{words('page.configuration')}</a>
        </Notice>
      )}
    </FilePage>
  );
}

interface ReviewProps extends OpenReview {
  readonly onClose: () => void;
  /** Rejects when it could not be saved. */
  readonly onSave: () => Promise<void>;
}

/** Lines of a comparison that are drawn at most. */
const MOST_LINES = 2_000;

/** The difference line by line, before anything is saved. */
function Review({ before, after, changedMeanwhile, keysGone, credentials, onClose, onSave }: ReviewProps) {
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

interface ProblemProps {
  readonly reading: Reading;
  /** Goes to a line and column of the text, both from 1; absent where the text is not shown. */
  readonly onJump?: (line: number, column: number) => void;
}

/** Says that the text is a configuration, or what is wrong with it and where. */
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
