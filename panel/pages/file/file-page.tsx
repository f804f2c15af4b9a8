import type { ComponentChildren } from 'preact';
import { sentence, useWords } from '../../i18n/text.js';
import { hrefOf } from '../../state/route.js';
import { useWorkspace } from '../../state/workspace.js';
import type { JsonNode } from '../../text/json-tree.js';
import { Button } from '../../ui/button.js';
import { FileButton } from '../../ui/file-button.js';
import { Icon } from '../../ui/icon.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { EditTools, Page } from '../../ui/page.js';
import { readingOf } from './content.js';
import type { Reading } from './document.js';
import type { FileEditing } from './file-editing.js';
import { Review } from './review.js';

/** The types of a backup of the file. */
export const JSON_FILES = '.json,.jsonc,application/json';

/** Takes a file of this machine for the edit. */
export async function restoreFrom(file: Pick<FileEditing, 'restore'>, chosen: File): Promise<void> {
  await file.restore(chosen.name, await chosen.text());
}

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
  const { draft, error, review } = file;
  const credentials = file.credentials();
  if (draft === null) {
    return (
      <Page title={title}>
        {error === null ? (
          <Loading />
        ) : (
          <Notice tone="bad" urgent>
            {words('config.unreadable')} {sentence(error, words)}{' '}
            <Button kind="small" onClick={file.load}>
              {words('login.retry')}
            </Button>{' '}
            <FileButton
              label={words('config.restore')}
              accept={JSON_FILES}
              onFile={(chosen) => restoreFrom(file, chosen)}
            />
          </Notice>
        )}
      </Page>
    );
  }
  const all = (
    <EditTools
      isDirty={file.isDirty()}
      off={!valid && words('off.invalid')}
      onDiscard={file.load}
      save={words('config.review')}
      onClick={file.openReview}
    >
      {tools}
    </EditTools>
  );
  return (
    <Page title={title} tools={all}>
      <Failure of={error} urgent />
      {credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${credentials}`)}</Notice>}
      {children}
      {review !== null && <Review review={review} file={file} />}
    </Page>
  );
}

interface FromFileProps {
  readonly file: FileEditing;
  readonly title: string;
  readonly valid: boolean;
  readonly tools?: ComponentChildren;
  /** Stands before the form, where Keyway's own interface has more of the same. */
  readonly lead?: ComponentChildren;
  readonly children: (tree: JsonNode) => ComponentChildren;
}

/** A page for one part of the file, where the server has no operations for it. Says when a change counts. */
export function FromFile({ file, title, valid, tools, lead, children }: FromFileProps) {
  const words = useWords();
  const { place } = useWorkspace();
  const reading = file.draft === null ? null : readingOf(file.draft.now);
  return (
    <FilePage file={file} title={title} valid={valid && reading?.ok === true} tools={reading?.ok === true && tools}>
      {lead}
      <p class="hint">
        {!lead && words('config.inFile')} {words(place.keyway === null ? 'config.countsLater' : 'config.countsAtOnce')}
      </p>
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

interface ProblemProps {
  readonly reading: Reading;
  /** Goes to the mistake in the text; absent where the text is not shown. */
  readonly onJump?: () => void;
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
      ? words(`config.problem.${problem}`)
      : words(`config.json.${problem.kind}`, {
          line: String(problem.line),
          column: String(problem.column),
          found: problem.found,
        });
  return (
    <p id="config-problem" class="hint hint-bad" role="alert">
      <Icon name="warning" /> {text}{' '}
      {onJump !== undefined && typeof problem !== 'string' && (
        <Button kind="small" onClick={onJump}>
          {words('config.jump')}
        </Button>
      )}
    </p>
  );
}
