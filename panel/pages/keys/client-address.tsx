import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { MissingAddress, setAddress } from '../../state/client-links.js';
import { useTask } from '../../state/tasks.js';
import { sayFailure } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { createStore, useStore } from '../../store/store.js';
import { readClientAddress } from '../../text/client-address.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { TextField, VERBATIM } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';

/** An address that is asked for, and what goes on when it is known. */
interface Question {
  /** The address that links name and no client can reach; null where none has been seen yet. */
  readonly host: string | null;
  readonly retry: () => Promise<unknown>;
}

const asked = createStore<Question | null>(null);

/** Asks for the address in a window, with nothing waiting for it. */
export function askAddress(host: string | null): void {
  asked.set({ host, retry: () => Promise.resolve() });
}

/** Hands something out; where its links would lead nowhere, asks for the address first, and then does it again. */
export async function handOut(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (problem) {
    if (!(problem instanceof MissingAddress)) throw problem;
    asked.set({ host: problem.host, retry: act });
  }
}

/** Asks for the address in a window, while something waits for it perhaps. */
export function AddressDialog() {
  const waiting = useStore(asked);
  return waiting === null ? null : <AddressQuestion {...waiting} />;
}

function AddressQuestion({ host, retry }: Question) {
  const words = useWords();
  const workspace = useWorkspace();
  const [typed, setTyped] = useState('');
  const [isSent, setSent] = useState(false);
  const { busy, error, run } = useTask();
  const read = readClientAddress(typed);
  const close = () => asked.set(null);
  const submit = () => {
    setSent(true);
    if (read === null) return;
    return run(async () => {
      await setAddress(workspace, read);
      close();
      retry().catch(sayFailure);
    });
  };
  return (
    <FormDialog title={words('address.title')} onSubmit={submit} onClose={close}>
      {host !== null && <Notice tone="warn">{words('address.why', { host: host || '—' })}</Notice>}
      <TextField
        {...VERBATIM}
        label={words('address.title')}
        hint={words('address.hint')}
        problem={isSent && read === null ? words('address.problem') : null}
        data-autofocus=""
        autocapitalize="off"
        value={typed}
        onType={setTyped}
      />
      <Failure of={error} urgent />
      <DialogFoot onClose={close} aria-disabled={busy}>
        {words('address.use')}
      </DialogFoot>
    </FormDialog>
  );
}
