import type { ComponentChildren } from 'preact';
import { sentence, useWords } from '../../i18n/text.js';
import { hrefOf } from '../../state/route.js';
import { useWorkspace } from '../../state/workspace.js';
import type { JsonNode } from '../../text/json-tree.js';
import { FileButton } from '../../ui/file-button.js';
import { Notice } from '../../ui/notice.js';
import { readingOf } from './file-draft.js';
import { Review } from './review.js';
import type { FileEditing } from './use-file.js';

/** What a backup of the file may be called. */
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
      <div class="page">
        <h1>{title}</h1>
        {error === null ? (
          <p class="hint loading">{words('config.loading')}</p>
        ) : (
          <Notice tone="bad" urgent>
            {words('config.unreadable')} {sentence(error, words)}{' '}
            <button type="button" class="button button-small" onClick={file.load}>
              {words('login.retry')}
            </button>{' '}
            <FileButton label={words('config.restore')} accept={JSON_FILES} onFile={file.restore} />
          </Notice>
        )}
      </div>
    );
  }
  return (
    <div class="page">
      <div class="toolbar-line">
        <h1>{title}</h1>
        {dirty && <span class="badge badge-warn">{words('config.unsaved')}</span>}
        <span class="grow" />
        {tools}
        {dirty && (
          <button type="button" class="button" onClick={file.load}>
            {words('action.discard')}
          </button>
        )}
        <button type="button" class="button button-primary" disabled={!dirty || !valid} onClick={file.openReview}>
          {words('config.review')}
        </button>
      </div>
      {error !== null && (
        <Notice tone="bad" urgent>
          {sentence(error, words)}
        </Notice>
      )}
      {file.credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${file.credentials}`)}</Notice>}
      {children}
      {review !== null && <Review {...review} onClose={file.closeReview} onSave={file.save} />}
    </div>
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
