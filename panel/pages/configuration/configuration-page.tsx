import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { placeOf } from '../../text/json-tree.js';
import { Button, Segments } from '../../ui/button.js';
import { download } from '../../ui/download.js';
import { FileButton } from '../../ui/file-button.js';
import { Absent } from '../../ui/page.js';
import { readingOf, textOfFile } from '../file/content.js';
import type { Reading } from '../file/document.js';
import { type FileDraft, useFile } from '../file/file-editing.js';
import { FilePage, JSON_FILES, Problem, restoreFrom } from '../file/file-page.js';
import { ConfigurationForm } from './configuration-form.js';
import { VersionsView } from './versions-view.js';

/** The server's file, as a form and as text. */
export function ConfigurationPage() {
  const has = useStore(useWorkspace().offers, ({ config }) => config);
  return has === false ? <Absent page="configuration" /> : <Editor />;
}

function Editor() {
  const words = useWords();
  const file = useFile();
  const [view, setView] = useState<View>('form');
  const own = useStore(useWorkspace().reach) === 'all';
  const [fieldsValid, setFieldsValid] = useState(true);
  const { draft } = file;
  const text = draft === null ? '' : textOfFile(draft.now);
  // Read from the text, so that places in it are known.
  const reading = useMemo(() => readingOf({ text }), [text]);
  const passwordsAgree = draft === null || draft.password.typed === draft.password.repeated;
  const valid = reading.ok && (view === 'text' || (fieldsValid && passwordsAgree));
  const saveBackup = () => file.attempt(async () => download('config', 'json', await file.fetchText()));
  const restore = async (chosen: File) => {
    await restoreFrom(file, chosen);
    setView('text');
  };
  return (
    <FilePage file={file} title={words('page.configuration')} valid={valid}>
      <div class="line toolbar-line">
        <Segments
          label={words('page.configuration')}
          names={own ? VIEWS : VIEWS.slice(0, 2)}
          chosen={view}
          onChoose={setView}
        >
          {(name) => words(`config.view.${name}`)}
        </Segments>
        <span class="grow" />
        <Button icon="download" shrinks onClick={saveBackup}>
          {words('config.download')}
        </Button>
        <FileButton label={words('config.restore')} accept={JSON_FILES} shrinks onFile={restore} />
      </div>
      {file.refused !== null && view !== 'text' && (
        <div class="line">
          <Button kind="small" onClick={() => setView('text')}>
            {words('config.jump')}
          </Button>
        </div>
      )}
      {view === 'form' && !reading.ok && <Problem reading={reading} />}
      {draft !== null && view === 'form' && reading.ok && (
        <ConfigurationForm
          key={draft.generation}
          tree={reading.tree}
          file={file}
          onChange={file.change}
          onValid={setFieldsValid}
        />
      )}
      {draft !== null && view === 'text' && (
        <CodeEditor
          key={draft.generation}
          draft={draft}
          text={text}
          reading={reading}
          refused={file.refused}
          onType={file.type}
        />
      )}
      {own && view === 'versions' && <VersionsView onEdit={() => setView('form')} />}
    </FilePage>
  );
}

const VIEWS = ['form', 'text', 'versions'] as const;
type View = (typeof VIEWS)[number];

/** Pixels of a line, and above the first; the stylesheet says the same. */
const LINE = 20;
const TOP = 14;

interface CodeEditorProps {
  readonly draft: FileDraft;
  readonly text: string;
  readonly reading: Reading;
  /** The member for which a save was refused; else null. */
  readonly refused: string | null;
  readonly onType: (text: string) => void;
}

/** The file as text, with the numbers of its lines, and with a way to what is wrong in it. */
function CodeEditor({ draft: { keyCount }, text, reading, refused, onType }: CodeEditorProps) {
  const words = useWords();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const lines = countLines(text);
  const wrong = useMemo(() => wrongPlace(reading, text, refused), [reading, refused]);
  const follow = () => {
    if (gutter.current !== null) gutter.current.scrollTop = area.current?.scrollTop ?? 0;
  };
  useLayoutEffect(follow, [lines]);
  const jump = () => {
    const element = area.current;
    if (element === null || wrong === null) return;
    element.focus();
    element.setSelectionRange(wrong.start, Math.min(wrong.start + 1, text.length));
    element.scrollTop = Math.max(0, (wrong.line - 4) * LINE);
    follow();
  };
  // Somebody who comes from a refused save is led to the member, before the next key is read.
  useLayoutEffect(() => void (refused !== null && jump()), [refused]);
  return (
    <>
      <Problem reading={reading} onJump={jump} />
      {keyCount > 0 && <p class="hint">{words('config.folded', { n: keyCount })}</p>}
      <div class="code">
        <pre ref={gutter} class="code-lines" aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => index + 1).join('\n')}
        </pre>
        <textarea
          ref={area}
          class={`code-editor ${wrong === null ? '' : 'code-wrong'}`}
          style={wrong === null ? {} : { backgroundPosition: `0 ${(wrong.line - 1) * LINE + TOP}px` }}
          aria-label={words('config.editor')}
          aria-invalid={!reading.ok}
          aria-describedby="config-problem"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={text}
          onInput={(event) => onType(event.currentTarget.value)}
          onScroll={follow}
        />
      </div>
    </>
  );
}

/** The line of what is wrong, from 1, and its place in the text; null for nothing. */
function wrongPlace(reading: Reading, text: string, refused: string | null) {
  const placeAt = (start: number) => ({ start, line: countLines(text.slice(0, start)) });
  if (reading.ok) {
    if (refused === null) return null;
    const { tree } = reading;
    return placeAt(placeOf(tree, refused));
  }
  const { problem } = reading;
  return typeof problem === 'string' ? null : placeAt(problem.offset);
}

function countLines(text: string): number {
  return text.split('\n').length;
}
