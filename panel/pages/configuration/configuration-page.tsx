import { useEffect, useState } from 'preact/hooks';
import { ApiFailure } from '../../api/failure.js';
import { sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { createDrafts } from '../../state/drafts.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { printTree } from '../../text/json-tree.js';
import { Absent } from '../../ui/absent.js';
import { download, fileStamp } from '../../ui/download.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';
import { ConfigurationForm } from './configuration-form.js';
import { countAt, placesIn, readConfiguration, textFromAnswer } from './document.js';
import { Problem } from './problem.js';
import { RestoreButton } from './restore-button.js';
import { Review } from './review.js';

const draftOf = createDrafts<string>();

/** The server's file, as a form and as text. Nothing is saved before its difference was seen. */
export function ConfigurationPage() {
  const words = useWords();
  const workspace = useWorkspace();
  const has = useStore(workspace.offers, ({ config }) => config);
  if (has === false) return <Absent feature="config" icon="configuration" title={words('page.configuration')} />;
  return <Editor />;
}

function Editor() {
  const words = useWords();
  const workspace = useWorkspace();
  const { server } = workspace;
  const store = draftOf(workspace);
  const draft = useStore(store);
  const [view, setView] = useState<'form' | 'text'>('form');
  const [error, setError] = useState<unknown>(null);
  const [review, setReview] = useState<string | null>(null);
  const [generation, setGeneration] = useState(0);

  const fetchText = async () => textFromAnswer(await server.configText());
  /** Empty where the server cannot read its own file: then there is nothing to compare with, and all the more to restore. */
  const currentText = () =>
    fetchText().catch((problem: unknown) => {
      if (problem instanceof ApiFailure && problem.kind === 'refused') return '';
      throw problem;
    });
  /** Runs something that asks the server, and shows why it failed. */
  const attempt = async (act: () => Promise<void>) => {
    setError(null);
    try {
      await act();
    } catch (problem) {
      setError(problem);
    }
  };
  const load = () =>
    attempt(async () => {
      const text = await fetchText();
      store.set({ base: text, now: text });
      setGeneration((last) => last + 1);
    });
  const restore = (file: File) =>
    attempt(async () => {
      store.set({ base: await currentText(), now: await file.text() });
      setGeneration((last) => last + 1);
      setView('text');
      say({ tone: 'plain', text: words('config.restored', { file: file.name.slice(0, 80) }) });
    });
  useEffect(() => {
    const known = store.get();
    if (known === null || known.base === known.now) void load();
  }, [store]);

  if (draft === null) {
    return (
      <div class="page">
        <h1>{words('page.configuration')}</h1>
        {error === null ? (
          <p class="hint loading">{words('config.loading')}</p>
        ) : (
          <Notice tone="bad" urgent>
            {words('config.unreadable')} {sentence(error, words)}{' '}
            <button type="button" class="button button-small" onClick={load}>
              {words('login.retry')}
            </button>{' '}
            <RestoreButton onRestore={restore} />
          </Notice>
        )}
      </div>
    );
  }
  const reading = readConfiguration(draft.now);
  const dirty = draft.now !== draft.base;
  const change = (now: string) => store.set({ base: draft.base, now });
  const saveBackup = () =>
    attempt(async () => download(`config-${fileStamp(Date.now())}.json`, await fetchText(), 'application/json'));
  const openReview = () =>
    attempt(async () => {
      const current = await currentText();
      if (current === draft.now) {
        store.set({ base: current, now: current });
        say({ tone: 'plain', text: words('config.noChanges') });
      } else setReview(current);
    });
  const save = async () => {
    const current = await currentText();
    if (current !== review) {
      setReview(current);
      return;
    }
    try {
      await server.replaceConfig(draft.now);
    } catch (problem) {
      note(workspace, 'event.saveConfig', false);
      throw problem;
    }
    note(workspace, 'event.saveConfig', true);
    setReview(null);
    say({ tone: 'good', text: words('config.saved') });
    await load();
    void workspace.contact.now();
  };

  return (
    <div class="page">
      <div class="toolbar-line">
        <h1>{words('page.configuration')}</h1>
        {dirty && <span class="badge badge-warn">{words('config.unsaved')}</span>}
        <span class="grow" />
        <button type="button" class="button" onClick={saveBackup}>
          <Icon name="download" /> {words('config.download')}
        </button>
        <RestoreButton onRestore={restore} />
        {dirty && (
          <button type="button" class="button" onClick={load}>
            {words('action.discard')}
          </button>
        )}
        <button type="button" class="button button-primary" disabled={!dirty || !reading.ok} onClick={openReview}>
          {words('config.review')}
        </button>
      </div>
      {error !== null && (
        <Notice tone="bad" urgent>
          {sentence(error, words)}
        </Notice>
      )}
      <div class="toolbar-line">
        <div class="segments" role="group" aria-label={words('page.configuration')}>
          {(['form', 'text'] as const).map((name) => (
            <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
              {words(`config.${name}`)}
            </button>
          ))}
        </div>
        <Problem reading={reading} />
      </div>
      {view === 'form' && reading.ok && (
        <ConfigurationForm key={generation} tree={reading.tree} onChange={(tree) => change(`${printTree(tree)}\n`)} />
      )}
      {view === 'text' && (
        <textarea
          class="code-editor"
          aria-label={words('config.editor')}
          aria-invalid={!reading.ok}
          aria-describedby="config-problem"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={draft.now}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
      {review !== null && (
        <Review
          before={review}
          after={draft.now}
          changedMeanwhile={review !== draft.base}
          keysGone={keysGone(review, draft.now)}
          onClose={() => setReview(null)}
          onSave={save}
        />
      )}
    </div>
  );
}

/** How many keys fewer the new file has. */
function keysGone(before: string, after: string): number {
  const count = (text: string) => {
    const reading = readConfiguration(text);
    return reading.ok ? countAt(reading.tree, placesIn(reading.tree).keys) : 0;
  };
  return Math.max(0, count(before) - count(after));
}
