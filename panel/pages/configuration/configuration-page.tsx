import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button, Segments } from '../../ui/button.js';
import { download, fileStamp } from '../../ui/download.js';
import { FileButton } from '../../ui/file-button.js';
import { Absent } from '../../ui/page.js';
import { readingOf, textOfFile } from '../file/content.js';
import type { Reading } from '../file/document.js';
import { type FileDraft, useFile } from '../file/file-editing.js';
import { FilePage, JSON_FILES, Problem, restoreFrom } from '../file/file-page.js';
import { ConfigurationForm } from './configuration-form.js';

/** The server's file, as a form and as text. */
export function ConfigurationPage() {
  const has = useStore(useWorkspace().offers, ({ config }) => config);
  return has === false ? <Absent page="configuration" /> : <Editor />;
}

function Editor() {
  const words = useWords();
  const file = useFile();
  const [view, setView] = useState<'form' | 'text'>('form');
  const [fieldsValid, setFieldsValid] = useState(true);
  const [textValid, setTextValid] = useState(true);
  const { draft } = file;
  // In the text view nothing is read before the typing rests.
  const reading = draft === null || view === 'text' ? null : readingOf(draft.now);
  const passwordsAgree = draft === null || draft.password.typed === draft.password.repeated;
  const valid = view === 'text' ? textValid : fieldsValid && passwordsAgree && reading?.ok === true;
  const saveBackup = () =>
    file.attempt(async () =>
      download(`config-${fileStamp(Date.now())}.json`, await file.fetchText(), 'application/json'),
    );
  const restore = async (chosen: File) => {
    await restoreFrom(file, chosen);
    setView('text');
  };
  return (
    <FilePage file={file} title={words('page.configuration')} valid={valid}>
      <div class="toolbar-line">
        <Segments label={words('page.configuration')} names={['form', 'text']} chosen={view} onChoose={setView}>
          {(name) => words(`config.view.${name}`)}
        </Segments>
        <span class="grow" />
        <Button icon="download" shrinks onClick={saveBackup}>
          {words('config.download')}
        </Button>
        <FileButton label={words('config.restore')} accept={JSON_FILES} shrinks onFile={restore} />
      </div>
      {reading?.ok === false && <Problem reading={reading} />}
      {draft !== null && reading?.ok === true && (
        <ConfigurationForm
          key={draft.generation}
          tree={reading.tree}
          file={file}
          onChange={file.change}
          onValid={setFieldsValid}
        />
      )}
      {draft !== null && view === 'text' && (
        <CodeEditor key={draft.generation} draft={draft} onType={file.type} onReading={({ ok }) => setTextValid(ok)} />
      )}
    </FilePage>
  );
}

/** Milliseconds after the last key before the text is read again: a large file takes long. */
const REST = 300;
/** Pixels of a line; the stylesheet says the same. */
const LINE = 20;

interface CodeEditorProps {
  readonly draft: FileDraft;
  readonly onType: (text: string) => void;
  readonly onReading: (reading: Reading) => void;
}

/** The file as text, with the numbers of its lines, and with a way to what is wrong in it. */
function CodeEditor({ draft, onType, onReading }: CodeEditorProps) {
  const words = useWords();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const [reading, setReading] = useState(() => readingOf(draft.now));
  const text = textOfFile(draft.now);
  const lines = countLines(text);
  useEffect(() => {
    const timer = setTimeout(() => setReading(readingOf(draft.now)), REST);
    return () => clearTimeout(timer);
  }, [draft.now]);
  useLayoutEffect(() => onReading(reading), [reading]);
  const follow = () => {
    if (gutter.current !== null) gutter.current.scrollTop = area.current?.scrollTop ?? 0;
  };
  useLayoutEffect(follow, [lines]);
  const jump = (line: number, column: number) => {
    const element = area.current;
    if (element === null) return;
    const start = text.split('\n', line - 1).join('\n').length + (line > 1 ? 1 : 0) + column - 1;
    element.focus();
    element.setSelectionRange(start, Math.min(start + 1, text.length));
    element.scrollTop = Math.max(0, (line - 4) * LINE);
    follow();
  };
  return (
    <>
      <Problem reading={reading} onJump={jump} />
      <div class="code">
        <pre ref={gutter} class="code-lines" aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => index + 1).join('\n')}
        </pre>
        <textarea
          ref={area}
          class="code-editor"
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

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
