import { useState } from 'preact/hooks';
import { isAbsent } from '../../api/failure.js';
import { sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { type Batch, runBatch } from '../../state/batch.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import type { Whole } from '../../text/exact-json.js';
import { Dialog, FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Notice } from '../../ui/notice.js';
import { BatchFoot } from './batch-dialogs.js';
import { Handout } from './handout.js';
import { LimitField, useLimit } from './limit-field.js';
import { createKey } from './save-key.js';

const MOST = 10_000;
/** Protocol: "Limits": at most so many keys in one bulk request. */
const AT_ONCE = 1_000;

/** Creates many keys, and hands them out as a table, links or QR codes. */
export function BulkDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const hasBulk = useStore(workspace.offers, (offers) => offers.bulk);
  const [count, setCount] = useState('10');
  const [prefix, setPrefix] = useState('');
  const limit = useLimit(null);
  const [batch, setBatch] = useState<Batch<unknown> | null>(null);
  const [made, setMade] = useState<readonly NamedKey[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const number = /^\s*\d{1,5}\s*$/.test(count) ? Number(count) : 0;
  const countProblem = number < 1 || number > MOST ? words('bulk.countProblem') : null;

  const submit = async () => {
    if (batch !== null || countProblem !== null || !limit.reading.ok) return;
    const keys: NamedKey[] = [];
    const order = { count: number, prefix: prefix.trim(), limit: limit.reading.bytes };
    const attempt = (together: boolean) => {
      const running = begin(workspace, { ...order, together }, keys);
      setBatch(running);
      return running.finished;
    };
    setProblem(null);
    let end = await attempt(hasBulk !== false);
    if (isAbsent(end.failed[0]?.error) && keys.length === 0) {
      workspace.offers.patch({ bulk: false });
      end = await attempt(false);
    }
    setBatch(null);
    note(workspace, 'createKeys', end.failed.length === 0, { n: keys.length });
    void workspace.contact.now();
    if (end.failed.length > 0) {
      const why = sentence(end.failed[0]?.error, words);
      setProblem(words('failed.create', { n: number - keys.length, why }));
    }
    if (end.failed.length === 0 && end.stopped) setProblem(words('batch.stopped', { done: keys.length, n: number }));
    if (keys.length > 0) setMade(keys);
  };

  if (made !== null) {
    return (
      <Dialog title={words('bulk.done', { n: made.length })} onClose={onClose}>
        <div class="dialog-body">
          {problem !== null && <Notice tone="bad">{problem}</Notice>}
          <p>{words('bulk.keep')}</p>
          <Handout keys={made} />
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog title={words('bulk.title')} onSubmit={submit} onClose={onClose}>
      {problem !== null && (
        <Notice tone="bad" urgent>
          {problem}
        </Notice>
      )}
      {hasBulk === false && <Notice tone="plain">{words('absent.bulk')}</Notice>}
      <TextField
        label={words('bulk.count')}
        problem={countProblem}
        data-autofocus=""
        inputMode="numeric"
        value={count}
        onType={setCount}
      />
      <LimitField {...limit} />
      <TextField
        label={words('keys.name')}
        hint={words('bulk.prefixHint')}
        maxLength={200}
        value={prefix}
        onType={setPrefix}
      />
      <BatchFoot batch={batch} onClose={onClose} label={words('edit.create')} />
    </FormDialog>
  );
}

interface BulkOrder {
  readonly count: number;
  readonly prefix: string;
  readonly limit: Whole | null;
  /** The server creates many in one request; names need one request each. */
  readonly together: boolean;
}

/** Begins to create keys; each is added to `made` as the server answers. */
function begin(workspace: Workspace, { count, prefix, limit, together }: BulkOrder, made: NamedKey[]): Batch<unknown> {
  if (together && prefix === '') {
    const parts = Array.from({ length: Math.ceil(count / AT_ONCE) }, (_, part) =>
      Math.min(AT_ONCE, count - part * AT_ONCE),
    );
    return runBatch(parts, async (part) => {
      for (const key of await workspace.server.createUsers(part, limit)) made.push({ key, name: '' });
    });
  }
  const names = Array.from({ length: count }, (_, index) => (prefix === '' ? '' : `${prefix} ${index + 1}`));
  return runBatch(names, async (name) => {
    made.push({ key: await createKey(workspace, { key: '', name, limit }), name });
  });
}
