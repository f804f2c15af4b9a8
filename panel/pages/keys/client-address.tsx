import { useState } from 'preact/hooks';
import { sentence, useWords } from '../../i18n/text.js';
import { clientAddressOf, MissingAddress } from '../../state/client-links.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { createStore, useStore } from '../../store/store.js';
import { readClientAddress } from '../../text/client-address.js';
import { Button } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { focusMistake, TextField, VERBATIM } from '../../ui/field.js';
import { Notice } from '../../ui/notice.js';

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

/** The draft of an address, and its being taken once it is one that clients can reach. */
function useClientAddress() {
  const address = clientAddressOf(useWorkspace());
  const [typed, setTyped] = useState(address.get() ?? '');
  const [refused, setRefused] = useState(false);
  const take = () => {
    const isGood = readClientAddress(typed) !== null;
    setRefused(!isGood);
    if (isGood) address.set(typed.trim());
    return isGood;
  };
  return { typed, setTyped, take, refused: refused && readClientAddress(typed) === null };
}

interface AddressFieldProps extends ReturnType<typeof useClientAddress> {
  readonly host: string | null;
}

function AddressField({ host, typed, setTyped, refused }: AddressFieldProps) {
  const words = useWords();
  return (
    <>
      {host !== null && <Notice tone="warn">{words('address.why', { host: host || '—' })}</Notice>}
      <TextField
        {...VERBATIM}
        label={words('address.title')}
        hint={words('address.hint')}
        problem={refused ? words('address.problem') : null}
        data-autofocus=""
        autocapitalize="off"
        value={typed}
        onType={setTyped}
      />
    </>
  );
}

/** Stands where a link would that leads nowhere, and asks for the address at which clients reach the server. */
export function AskAddress({ host }: { readonly host: string }) {
  const words = useWords();
  const address = useClientAddress();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget instanceof HTMLFormElement ? event.currentTarget : null;
    if (!address.take()) focusMistake(form);
  };
  return (
    <form class="ask-address" onSubmit={submit}>
      <AddressField host={host} {...address} />
      <Button type="submit" kind="primary">
        {words('address.use')}
      </Button>
    </form>
  );
}

/** The same question in a window, while something waits for its answer. */
export function AddressDialog() {
  const waiting = useStore(asked);
  return waiting === null ? null : <AddressQuestion {...waiting} />;
}

function AddressQuestion({ host, retry }: Question) {
  const words = useWords();
  const address = useClientAddress();
  const close = () => asked.set(null);
  const submit = () => {
    if (!address.take()) return;
    close();
    retry().catch((problem: unknown) => say('bad', (words) => sentence(problem, words)));
  };
  return (
    <FormDialog title={words('address.title')} onSubmit={submit} onClose={close}>
      <AddressField host={host} {...address} />
      <DialogFoot onClose={close}>{words('address.use')}</DialogFoot>
    </FormDialog>
  );
}
