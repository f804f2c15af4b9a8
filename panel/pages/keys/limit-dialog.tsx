import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { batchesOf } from '../../state/batches.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useWorkspace } from '../../state/workspace.js';
import { narrow, type Whole } from '../../text/exact-json.js';
import { formatLimit } from '../../text/sizes.js';
import { Segments } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { type KeysDialogProps, Names, TypedCount, useTypedCount } from './batch-dialogs.js';
import { LimitField, limitDraft, limitOf, raised } from './limit-field.js';

/** The ways to change the limit of a key, each by the limit that it has and the size that is typed. */
const MODES = {
  set: (_: Whole | null, size: Whole) => size,
  add: (limit: Whole | null, size: Whole) => (limit === null ? null : sumOf(limit, size)),
  remove: () => null,
} satisfies Readonly<Record<string, (limit: Whole | null, size: Whole) => Whole | null>>;
type Mode = keyof typeof MODES;

/** The sum, at most the largest limit there is. */
function sumOf(limit: Whole, more: Whole): Whole {
  const sum = BigInt(limit) + BigInt(more);
  return narrow(sum < 2n ** 64n ? sum : 2n ** 64n - 1n);
}

/** Sets, raises or removes the limits of keys; nothing of that is chosen beforehand. */
export function LimitDialog({ keys, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const [mode, setMode] = useState<Mode | null>(null);
  const limit = limitOf(...useState(limitDraft(null)));
  const count = useTypedCount(keys.length);
  const [refused, setRefused] = useState(false);
  const size = limit.reading.ok ? limit.reading.bytes : null;
  const problem =
    mode === null ? words('limit.choose') : mode !== 'remove' && size === null ? words('limit.needed') : null;
  const present = ({ key }: NamedKey) => workspace.users.state.get().byKey.get(key)?.limit_bytes ?? null;
  const next = (before: Whole | null) => (mode === null ? before : MODES[mode](before, size ?? 0));
  const shown = (bytes: Whole | null) =>
    bytes === null ? words('keys.unlimited') : formatLimit(bytes, words.language);
  const submit = () => {
    setRefused(problem !== null);
    if (!count.confirm() || problem !== null) return;
    const changes = keys.map((key) => {
      const [before, update] = [present(key), { op: 'update', access_key: key.key } as const];
      return { item: { ...update, limit_bytes: next(before) }, back: { ...update, limit_bytes: before } };
    });
    batchesOf(workspace).begin('limit', changes);
    onDone();
  };
  return (
    <FormDialog title={words('limit.title', { n: keys.length })} onSubmit={submit} onClose={onClose}>
      <Names
        keys={keys}
        unseen={unseen}
        {...(problem === null && { change: (key) => `${shown(present(key))} → ${shown(next(present(key)))}` })}
      />
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
          onMore={() => {
            setMode('add');
            limit.setDraft(limitDraft(raised(mode === 'add' ? size : null)));
          }}
          hint={mode === 'add' ? words('limit.addHint') : ''}
          problem={refused ? problem : null}
          autofocus
        />
      )}
      <TypedCount {...count} />
      <DialogFoot onClose={onClose}>{words('action.save')}</DialogFoot>
    </FormDialog>
  );
}
