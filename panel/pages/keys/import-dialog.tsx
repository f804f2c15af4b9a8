import { useMemo, useState } from 'preact/hooks';
import { splitLimit } from '../../../src/text/sizes.js';
import type { Whole } from '../../../src/text/whole.js';
import { useWords, type Words } from '../../i18n/text.js';
import { batchesOf } from '../../state/batches.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { changesIn, type ImportLine, planImport } from '../../state/import-plan.js';
import { limitText } from '../../state/limits.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { visible } from '../../text/visible.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { LinesField } from '../../ui/field.js';
import { FileButton } from '../../ui/file-button.js';
import { Scrolls, Table } from '../../ui/page.js';
import { BatchWindow } from '../batch-bar.js';

/** Lines that are drawn; beyond, their number is told. */
const MOST_LINES = 500;
const EFFECTS = ['create', 'change', 'same', 'bad'] as const;

/** Takes a table of keys: shows what each line would change, and then does it. */
export function ImportDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const { byKey, hasNotes } = useStore(workspace.users.state);
  // The plan stays as it was decided, whatever the list becomes meanwhile.
  const { form, change, discard } = useFormDraft('import', { text: '', plan: NOTHING });
  const [running, setRunning] = useState<number | null>(null);
  const read = (text: string) => change({ text, plan: planImport(text, byKey, hasNotes) });
  const { text, plan } = form;
  const todo = useMemo(() => changesIn(plan), [plan]);
  const close = () => {
    discard();
    onClose();
  };
  const submit = () => {
    if (todo.length > 0) setRunning(batchesOf(workspace).begin('import', todo, true).id);
  };
  if (running !== null) return <BatchWindow id={running} onClose={close} />;
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
        placeholder={'key,label,limit\nguest-7,Guest,50 GiB'}
        value={text}
        onType={read}
      />
      {plan.length > 0 && <Preview plan={plan} />}
      <DialogFoot onClose={close} off={todo.length === 0 && words('off.unchanged')}>
        {words('import.apply', { n: todo.length })}
      </DialogFoot>
    </FormDialog>
  );
}

const NOTHING: readonly ImportLine[] = [];

function Preview({ plan }: { readonly plan: readonly ImportLine[] }) {
  const words = useWords();
  const more = plan.length - MOST_LINES;
  return (
    <>
      <p role="status">
        {EFFECTS.map(
          (effect) => `${words(`import.effect.${effect}`)}: ${plan.filter((line) => line.effect === effect).length}`,
        ).join(' · ')}
      </p>
      <Scrolls class="scroller" label={words('import.preview')}>
        <Table heads={[words('import.line'), words('keys.key'), words('import.effect')]}>
          {plan.slice(0, MOST_LINES).map((line) => (
            <tr key={line.line}>
              <td>{line.line}</td>
              <td class="mono">{line.key === '' ? words('import.generated') : visible(line.key.slice(0, 80))}</td>
              <td>
                <span class={`badge badge-${BADGES[line.effect]}`}>{words(`import.effect.${line.effect}`)}</span>{' '}
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

function effectText({ effect, problem, name, note, limit, now }: ImportLine, words: Words): string {
  if (problem !== null)
    return words(
      problem === 'negative' || problem === 'notANumber' || problem === 'tooLarge'
        ? `edit.limit.${problem}`
        : `import.problem.${problem}`,
    );
  const size = (bytes: Whole | null) =>
    bytes === null ? words('keys.unlimited') : limitText(splitLimit(bytes), words.language);
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
  if (note !== undefined && note !== (now?.note ?? ''))
    parts.push(`${words('keys.note')}: ${visible(note.slice(0, 80)) || '—'}`);
  return effect === 'same' ? '' : parts.join(' · ');
}
