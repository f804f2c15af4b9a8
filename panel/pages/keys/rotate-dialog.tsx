import { useState } from 'preact/hooks';
import { type Rotated, rotateKey } from '../../api/rotation.js';
import { useWords } from '../../i18n/text.js';
import { noted } from '../../state/audit-notes.js';
import { labelOf, type NamedKey } from '../../state/named-keys.js';
import { goTo } from '../../state/route.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { randomHex } from '../../text/random.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Share } from './share.js';

interface RotateDialogProps {
  readonly of: NamedKey;
  readonly onClose: () => void;
}

/** Gives a key a new secret, and shows its link. */
export function RotateDialog({ of, onClose }: RotateDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const { busy, error, run } = useTask();
  const [once] = useState(randomHex);
  const [successor, setSuccessor] = useState<Rotated | null>(null);
  const submit = () =>
    run(async () => {
      setSuccessor(await noted(workspace, 'rotateKey', rotateKey(workspace.own, of.key, once)));
      void workspace.contact.now();
    });
  if (successor !== null) return <NewSecret of={{ ...of, key: successor.key }} unsaved={successor.unsaved} />;
  return (
    <FormDialog title={words('rotate.title', { name: labelOf(of) })} onSubmit={submit} onClose={onClose}>
      <p>{words('rotate.text')}</p>
      <p>{words('rotate.cutOff')}</p>
      <Failure of={error} urgent />
      <DialogFoot onClose={onClose} isSafe kind="danger" aria-disabled={busy}>
        {words('key.rotate')}
      </DialogFoot>
    </FormDialog>
  );
}

/** The key with its new secret, which is the one whose sheet stays. */
function NewSecret({ of, unsaved }: { readonly of: NamedKey } & Pick<Rotated, 'unsaved'>) {
  const words = useWords();
  const close = () => goTo('keys', of.key);
  return (
    <Dialog title={words('rotate.done')} onClose={close}>
      <div class="dialog-body">
        <Notice tone="plain">{words('rotate.ended')}</Notice>
        <Failure of={unsaved} urgent />
        <Share of={of} />
        <div class="line dialog-foot">
          <Button kind="primary" onClick={close}>
            {words('action.close')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
