import { useState } from 'preact/hooks';
import { formatLimit, ownUnit, splitLimit } from '../../../src/text/sizes.js';
import type { Whole } from '../../../src/text/whole.js';
import { useWords } from '../../i18n/text.js';
import { batchesOf } from '../../state/batches.js';
import {
  changedLimit,
  type LimitMode,
  lastUnitOf,
  limitChanges,
  limitDraft,
  limitOf,
  raised,
} from '../../state/limits.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useWorkspace } from '../../state/workspace.js';
import { Segments } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { type KeysDialogProps, Names, TypedCount, useTypedCount } from './batch-dialogs.js';
import { LimitField } from './limit-field.js';

/** Sets, raises or removes the limits of keys; nothing of that is chosen beforehand. */
export function LimitDialog({ keys, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const [mode, setMode] = useState<LimitMode | null>(null);
  const { byKey } = workspace.users.state.get();
  const limit = limitOf(
    ...useState(() => {
      const limits = keys.map(({ key }) => byKey.get(key)?.limit_bytes ?? null);
      return limitDraft(null, ownUnit(limits.find((each) => each !== null) ?? null, lastUnitOf(workspace).get()));
    }),
  );
  const count = useTypedCount(keys.length);
  const [refused, setRefused] = useState(false);
  const size = limit.reading.ok ? limit.reading.bytes : null;
  const problem =
    mode === null ? words('limit.choose') : mode !== 'remove' && size === null ? words('edit.limit.notANumber') : null;
  const shown = (bytes: Whole | null) =>
    bytes === null ? words('keys.unlimited') : formatLimit(bytes, words.language);
  const changeOf = ({ key }: NamedKey) => {
    const before = byKey.get(key)?.limit_bytes ?? null;
    if (mode === null || problem !== null) return shown(before);
    return `${shown(before)} → ${shown(changedLimit(before, mode, size ?? 0))}`;
  };
  const submit = () => {
    setRefused(problem !== null);
    if (!count.confirm() || mode === null || problem !== null) return;
    batchesOf(workspace).begin('limit', limitChanges(keys, byKey, mode, size ?? 0));
    onDone();
  };
  return (
    <FormDialog title={words('limit.title', { n: keys.length })} onSubmit={submit} onClose={onClose}>
      <Names keys={keys} unseen={unseen} change={changeOf} />
      <Segments label={words('limit.mode')} names={['set', 'add', 'remove']} chosen={mode} onChoose={setMode}>
        {(name) => words(`limit.mode.${name}`)}
      </Segments>
      {mode === 'remove' ? null : (
        <LimitField
          {...limit}
          setDraft={(draft) => {
            limit.setDraft(draft);
            if (mode === null) setMode('set');
          }}
          onMore={(unit) => {
            setMode('add');
            limit.setDraft(splitLimit(raised(mode === 'add' ? size : null, unit), unit));
          }}
          hint=""
          problem={refused ? problem : null}
          autofocus
        />
      )}
      <TypedCount {...count} />
      <DialogFoot onClose={onClose}>{words('action.save')}</DialogFoot>
    </FormDialog>
  );
}
