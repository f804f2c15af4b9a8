import { useState } from 'preact/hooks';
import { type Rotated, rotateKey } from '../../api/rotation.js';
import { fullTime, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { labelOf, type NamedKey } from '../../state/named-keys.js';
import { goTo } from '../../state/route.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Field, Select, Switch } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Share } from './share.js';

/** Seconds that the old key may go on. */
const GRACES = ['0', '3600', '86400', '604800'] as const;

/** Milliseconds for which an address is kept where nobody says another time. */
const WEEK = 604_800_000;

interface RotateDialogProps {
  readonly of: NamedKey;
  readonly onClose: () => void;
}

/** Gives a key a new secret, and shows its link. */
export function RotateDialog({ of, onClose }: RotateDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const { busy, error, run } = useTask();
  const [grace, setGrace] = useState<(typeof GRACES)[number]>('0');
  const [keeps, setKeeps] = useState(false);
  const [until, setUntil] = useState(() => localInput(Date.now() + WEEK));
  const [refused, setRefused] = useState(false);
  const [rotated, setRotated] = useState<Rotated | null>(null);
  const keepAddressUntil = keeps ? Date.parse(until) : null;
  const isPast = keepAddressUntil !== null && !(keepAddressUntil > Date.now());
  const submit = () => {
    setRefused(isPast);
    if (isPast) return;
    return run(async () => {
      try {
        setRotated(await rotateKey(workspace.own, of.key, { grace: Number(grace), keepAddressUntil }));
      } catch (problem) {
        note(workspace, 'rotateKey', false);
        throw problem;
      }
      note(workspace, 'rotateKey', true);
      void workspace.contact.now();
    });
  };
  if (rotated !== null) return <NewSecret rotated={rotated} name={of.name} />;
  return (
    <FormDialog title={words('rotate.title', { name: labelOf(of) })} onSubmit={submit} onClose={onClose}>
      <p>{words('rotate.text')}</p>
      <Field label={words('rotate.grace')} hint={words(grace === '0' ? 'rotate.graceNone' : 'rotate.graceHint')}>
        {(control) => (
          <Select {...control} names={GRACES} value={grace} onChoose={setGrace}>
            {(seconds) => words(`rotate.grace.${seconds}`)}
          </Select>
        )}
      </Field>
      <Switch label={words('rotate.keep')} hint={words('rotate.keepHint')} checked={keeps} onChange={setKeeps} />
      {keeps && (
        <Field label={words('rotate.until')} problem={refused && isPast ? words('rotate.past') : null}>
          {(control) => (
            <input
              {...control}
              type="datetime-local"
              value={until}
              onInput={(event) => setUntil(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Failure of={error} urgent />
      <DialogFoot onClose={onClose} isSafe kind="danger" aria-disabled={busy}>
        {words('key.rotate')}
      </DialogFoot>
    </FormDialog>
  );
}

/** The key with its new secret, which is the one whose sheet stays. */
function NewSecret({ rotated: { key, oldEndsAt }, name }: { readonly rotated: Rotated; readonly name: string }) {
  const words = useWords();
  const close = () => goTo('keys', key);
  const hasEnded = oldEndsAt <= Date.now();
  return (
    <Dialog title={words('rotate.done')} onClose={close}>
      <div class="dialog-body">
        <Notice tone="plain">
          {hasEnded ? words('rotate.ended') : words('rotate.endsAt', { time: fullTime(oldEndsAt, words.language) })}
        </Notice>
        <Share of={{ key, name }} />
        <div class="dialog-foot">
          <Button kind="primary" onClick={close}>
            {words('action.close')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** A time in the viewer's zone, as a field for times holds it. */
function localInput(time: number): string {
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
