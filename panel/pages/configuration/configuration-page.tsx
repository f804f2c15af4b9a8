import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button, Segments } from '../../ui/button.js';
import { download, fileStamp } from '../../ui/download.js';
import { FileButton } from '../../ui/file-button.js';
import { Absent } from '../../ui/page.js';
import { readingOf } from '../file/file-draft.js';
import { FilePage, JSON_FILES } from '../file/file-page.js';
import { Problem } from '../file/problem.js';
import { useFile } from '../file/use-file.js';
import { CodeEditor } from './code-editor.js';
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
    await file.restore(chosen);
    setView('text');
  };
  const tools = (
    <>
      <Button
        icon="download"
        shrinks
        aria-label={words('config.download')}
        title={words('config.download')}
        onClick={saveBackup}
      >
        {words('config.download')}
      </Button>
      <FileButton label={words('config.restore')} accept={JSON_FILES} shrinks onFile={restore} />
    </>
  );
  return (
    <FilePage file={file} title={words('page.configuration')} valid={valid} tools={tools}>
      <div class="toolbar-line">
        <Segments label={words('page.configuration')} names={['form', 'text']} chosen={view} onChoose={setView}>
          {(name) => words(`config.${name}`)}
        </Segments>
        {reading?.ok === false && <Problem reading={reading} />}
      </div>
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
