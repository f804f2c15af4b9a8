import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { failureText } from '../../state/batch.js';
import { batchesOf } from '../../state/batches.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { creationOf } from '../../state/key-changes.js';
import { lastUnitOf, limitDraft, limitOf } from '../../state/limits.js';
import { useWorkspace } from '../../state/workspace.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Notice } from '../../ui/notice.js';
import { BatchWindow } from '../batch-bar.js';
import { LimitField } from './limit-field.js';

const MOST = 10_000;

/** Creates many keys, and hands them out as a table, links or QR codes. */
export function BulkDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const batches = batchesOf(workspace);
  const { form, change, discard } = useFormDraft('bulk', {
    ...{ count: '10', prefix: '' },
    limit: limitDraft(null, lastUnitOf(workspace).get()),
  });
  const limit = limitOf(form.limit, (next) => change({ limit: next }));
  const [running, setRunning] = useState<number | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const count = /^\s*\d{1,5}\s*$/.test(form.count) ? Number(form.count) : 0;
  const countProblem = count < 1 || count > MOST ? words('bulk.countProblem') : null;
  const close = () => {
    discard();
    onClose();
  };

  const submit = async () => {
    if (running !== null || countProblem !== null || !limit.reading.ok) return;
    const { bytes } = limit.reading;
    const prefix = form.prefix.trim();
    const changes = Array.from({ length: count }, (_, index) => ({
      item: creationOf('', { name: prefix && `${prefix} ${index + 1}`, limit: bytes }),
    }));
    setRefused(null);
    const { id, over } = batches.begin('create', changes, true);
    setRunning(id);
    const end = await over;
    if (end.done > 0 || end.failed === 0) return;
    // Nothing of it was done: the form comes back as it was.
    batches.dismiss(id);
    setRunning(null);
    setRefused(failureText(end, workspace.users.state.get().byKey, words));
  };

  if (running !== null) return <BatchWindow id={running} onClose={close} />;
  return (
    <FormDialog title={words('bulk.title')} onSubmit={submit} onClose={onClose}>
      {refused !== null && (
        <Notice tone="bad" urgent>
          {refused}
        </Notice>
      )}
      <TextField
        label={words('bulk.count')}
        problem={countProblem}
        data-autofocus=""
        inputMode="numeric"
        value={form.count}
        onType={(typed) => change({ count: typed })}
      />
      <TextField
        label={words('keys.label')}
        hint={words('bulk.prefixHint')}
        maxLength={200}
        value={form.prefix}
        onType={(typed) => change({ prefix: typed })}
      />
      <LimitField {...limit} />
      <DialogFoot onClose={close}>{words('edit.create')}</DialogFoot>
    </FormDialog>
  );
}
