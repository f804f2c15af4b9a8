import { useMemo, useState } from 'preact/hooks';
import { sentence, useWords, type Words } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { type Batch, type BatchState, runBatch } from '../../state/batch.js';
import { type ImportLine, planImport } from '../../state/import-plan.js';
import { titleOf } from '../../state/key-list.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import type { Whole } from '../../text/exact-json.js';
import { visible } from '../../text/visible.js';
import { Dialog, FormDialog } from '../../ui/dialog.js';
import { LinesField } from '../../ui/field.js';
import { FileButton } from '../../ui/file-button.js';
import { Notice } from '../../ui/notice.js';
import { Scrolls, Table } from '../../ui/page.js';
import { BatchFoot } from './batch-dialogs.js';
import { Handout } from './handout.js';
import { limitText } from './limit-field.js';
import { changeKey, createKey } from './save-key.js';

/** Lines that are drawn; beyond, their number is told. */
const MOST_LINES = 500;
const EFFECTS = ['create', 'change', 'same', 'bad'] as const;

/** Takes a table of keys: shows what each line would change, and then does it. */
export function ImportDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const byKey = useStore(workspace.users.state, (state) => state.byKey);
  const [text, setText] = useState('');
  const [batch, setBatch] = useState<Batch<ImportLine> | null>(null);
  const [end, setEnd] = useState<BatchState<ImportLine> | null>(null);
  const [made, setMade] = useState<readonly NamedKey[]>([]);
  // The plan stays as it was decided, whatever the list becomes meanwhile.
  const [plan, setPlan] = useState<readonly ImportLine[]>([]);
  const read = (table: string) => {
    setText(table);
    setPlan(planImport(table, byKey));
  };
  const todo = useMemo(() => plan.filter(({ effect }) => effect === 'create' || effect === 'change'), [plan]);
  const submit = async () => {
    if (batch !== null || todo.length === 0) return;
    const created: NamedKey[] = [];
    const running = runBatch(todo, async (line) => {
      if (line.now === null) {
        const name = line.name ?? '';
        created.push({ key: await createKey(workspace, { key: line.key, name, limit: line.limit ?? null }), name });
      } else {
        const { name, limit = line.now.limit_bytes } = line;
        await changeKey(workspace, line.now, { ...(name === undefined ? {} : { name }), limit });
      }
    });
    setBatch(running);
    const state = await running.finished;
    note(workspace, 'createKeys', state.failed.length === 0, { n: created.length });
    setMade(created);
    setEnd(state);
    setBatch(null);
    void workspace.contact.now();
  };
  if (end !== null) return <Outcome end={end} made={made} onClose={onClose} />;
  return (
    <FormDialog title={words('import.title')} kind="wide" onSubmit={submit} onClose={onClose}>
      <p class="hint">{words('import.text')}</p>
      <FileButton
        label={words('import.file')}
        accept=".csv,.tsv,.txt,text/csv"
        onFile={async (file) => read(await file.text())}
      />
      <LinesField
        label={words('import.paste')}
        rows={5}
        placeholder={'key,name,limit\nguest-7,Guest,50 GiB'}
        value={text}
        onType={read}
      />
      {plan.length > 0 && <Preview plan={plan} />}
      <BatchFoot batch={batch} onClose={onClose} label={words('import.apply', { n: todo.length })} />
    </FormDialog>
  );
}

function Preview({ plan }: { readonly plan: readonly ImportLine[] }) {
  const words = useWords();
  const more = plan.length - MOST_LINES;
  return (
    <>
      <p role="status">
        {EFFECTS.map(
          (effect) => `${words(`import.${effect}`)}: ${plan.filter((line) => line.effect === effect).length}`,
        ).join(' · ')}
      </p>
      <Scrolls class="import-preview" label={words('import.preview')}>
        <Table heads={[words('import.line'), words('keys.key'), words('import.effect')]}>
          {plan.slice(0, MOST_LINES).map((line) => (
            <tr key={line.line}>
              <td>{line.line}</td>
              <td class="mono">{line.key === '' ? words('import.generated') : visible(line.key.slice(0, 80))}</td>
              <td>
                <span class={`badge badge-${BADGES[line.effect]}`}>{words(`import.${line.effect}`)}</span>{' '}
                {effectText(line, words)}
              </td>
            </tr>
          ))}
        </Table>
        {more > 0 && <p class="hint">{words('failed.more', { n: more })}</p>}
      </Scrolls>
    </>
  );
}

const BADGES = { create: 'good', change: 'warn', same: 'plain', bad: 'block' } as const;

function effectText({ effect, problem, name, limit, now }: ImportLine, words: Words): string {
  if (problem !== null)
    return words(
      problem === 'negative' || problem === 'notANumber' || problem === 'tooLarge'
        ? `edit.limit.${problem}`
        : `import.${problem}`,
    );
  const size = (bytes: Whole | null) => (bytes === null ? words('keys.unlimited') : limitText(bytes, words.language));
  const parts: string[] = [];
  if (name !== undefined && (now === null ? name !== '' : (now.name ?? '') !== name)) {
    const before =
      now === null
        ? ''
        : `${now.name === undefined ? words('keys.untold') : visible(now.name ?? '') || words('keys.unnamed')} → `;
    parts.push(before + (visible(name.slice(0, 80)) || words('keys.unnamed')));
  }
  if (limit !== undefined && (now === null || now.limit_bytes !== limit)) {
    parts.push((now === null ? '' : `${size(now.limit_bytes)} → `) + size(limit));
  }
  return effect === 'same' ? '' : parts.join(' · ');
}

interface OutcomeProps {
  readonly end: BatchState<ImportLine>;
  readonly made: readonly NamedKey[];
  readonly onClose: () => void;
}

/** The result: the number of keys, the failures by name, and the new keys to hand out. */
function Outcome({ end, made, onClose }: OutcomeProps) {
  const words = useWords();
  return (
    <Dialog title={words('import.done', { n: end.done })} onClose={onClose}>
      <div class="dialog-body">
        {end.stopped && <Notice tone="warn">{words('batch.stopped', { done: end.done, n: end.total })}</Notice>}
        {end.failed.length > 0 && (
          <Notice tone="bad" urgent>
            <ul class="failures">
              {end.failed.slice(0, MOST_LINES).map(({ item, error }) => (
                <li key={item.line}>
                  {words('import.failedLine', {
                    line: String(item.line),
                    name: titleOf({ access_key: item.key, name: item.name ?? null }).slice(0, 80),
                    why: sentence(error, words),
                  })}
                </li>
              ))}
            </ul>
          </Notice>
        )}
        {made.length > 0 && <Handout keys={made} />}
      </div>
    </Dialog>
  );
}
