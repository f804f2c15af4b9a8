import { useEffect, useRef, useState } from 'preact/hooks';
import { sentence, useWords, type Words } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { createDrafts } from '../../state/drafts.js';
import { useStore } from '../../state/store.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { printTree } from '../../text/json-tree.js';
import { Absent } from '../../ui/absent.js';
import { download, fileStamp } from '../../ui/download.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';
import { ConfigurationForm } from './configuration-form.js';
import { countAt, placesIn, type Reading, readConfiguration, textFromAnswer } from './document.js';
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
  const load = async () => {
    setError(null);
    try {
      const text = await fetchText();
      store.set({ base: text, now: text });
      setGeneration((last) => last + 1);
    } catch (problem) {
      setError(problem);
    }
  };
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
            </button>
          </Notice>
        )}
      </div>
    );
  }
  const reading = readConfiguration(draft.now);
  const dirty = draft.now !== draft.base;
  const change = (now: string) => store.set({ base: draft.base, now });
  const openReview = async () => {
    setError(null);
    try {
      const current = await fetchText();
      if (current === draft.now) {
        store.set({ base: current, now: current });
        say({ tone: 'plain', text: words('config.noChanges') });
      } else setReview(current);
    } catch (problem) {
      setError(problem);
    }
  };
  const save = async () => {
    const current = await fetchText();
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
        <Backup text={draft.base} onRestore={change} onRestored={() => setGeneration(generation + 1)} />
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
        <Problem reading={reading} words={words} />
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

function Problem({ reading, words }: { readonly reading: Reading; readonly words: Words }) {
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

interface BackupProps {
  readonly text: string;
  readonly onRestore: (text: string) => void;
  readonly onRestored: () => void;
}

/** Saves the server's file to this computer, and brings one back into the editor. */
function Backup({ text, onRestore, onRestored }: BackupProps) {
  const words = useWords();
  const input = useRef<HTMLInputElement>(null);
  const choose = async (files: FileList | null) => {
    const file = files?.[0];
    if (file === undefined) return;
    onRestore(await file.text());
    onRestored();
    say({ tone: 'plain', text: words('config.restored', { file: file.name.slice(0, 80) }) });
    if (input.current !== null) input.current.value = '';
  };
  return (
    <>
      <button
        type="button"
        class="button"
        onClick={() => download(`config-${fileStamp(Date.now())}.json`, text, 'application/json')}
      >
        <Icon name="download" /> {words('config.download')}
      </button>
      <button type="button" class="button" onClick={() => input.current?.click()}>
        <Icon name="upload" /> {words('config.restore')}
      </button>
      <input
        ref={input}
        type="file"
        accept=".json,.jsonc,application/json"
        hidden
        aria-label={words('config.restore')}
        onChange={(event) => void choose(event.currentTarget.files)}
      />
    </>
  );
}
