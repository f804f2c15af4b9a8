import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { User } from '../api/wire.js';
import { useWords } from '../i18n/text.js';
import { addressesSet } from '../state/client-links.js';
import { findUnreachable, firstStepsOf, isSeen } from '../state/first-steps.js';
import { goTo } from '../state/route.js';
import { useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { Button, IconButton } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { askAddress } from './keys/client-address.js';
import { EditDialog } from './keys/edit-dialog.js';

/** The steps to a usable new server, each with the way to it. Goes when none is lacking, or when it is sent away. */
export function FirstSteps({ users }: { readonly users: readonly User[] }) {
  const words = useWords();
  const workspace = useWorkspace();
  const store = firstStepsOf(workspace);
  const isOver = useStore(store);
  const set = useStore(addressesSet(workspace));
  const [creating, setCreating] = useState(false);
  /** The host that links name and no client reaches; null where they lead to the server, undefined while that is not known. */
  const [unreachable, setUnreachable] = useState<string | null | undefined>();
  const first = users[0]?.access_key;
  const seen = users.some(isSeen);
  useEffect(() => {
    let isWanted = !isOver;
    // What is known stands until it is read again.
    if (isWanted) findUnreachable(workspace, first).then((host) => isWanted && setUnreachable(host));
    return () => {
      isWanted = false;
    };
  }, [workspace, first, set, isOver]);
  const isComplete = seen && unreachable === null;
  useEffect(() => void (isComplete && store.set(true)), [isComplete]);
  const lacks = first === undefined || !seen || typeof unreachable === 'string';
  return (
    <>
      {!isOver && lacks && (
        <section class="card" aria-label={words('start.title')}>
          <header class="line">
            <h2>{words('start.title')}</h2>
            <IconButton icon="close" label={words('start.hide')} onClick={() => store.set(true)} />
          </header>
          <ol class="steps">
            <Step
              n={1}
              isDone={unreachable === null || (first === undefined && set > 0)}
              title={words('address.title')}
              text={
                typeof unreachable === 'string'
                  ? words('start.addressMissing', { host: unreachable || '—' })
                  : words(unreachable === null ? 'start.addressGood' : 'start.addressText')
              }
            >
              <Button
                {...(typeof unreachable === 'string' ? { kind: 'primary' } : {})}
                onClick={() => askAddress(unreachable ?? null)}
              >
                {words('start.addressDo')}
              </Button>
            </Step>
            <Step n={2} isDone={first !== undefined} title={words('start.key')} text={words('start.keyText')}>
              <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
                {words('overview.first')}
              </Button>
            </Step>
            <Step n={3} isDone={seen} title={words('start.client')} text={words('start.clientText')}>
              <Button
                off={first === undefined && words('start.keyFirst')}
                icon="qr"
                onClick={() => goTo('keys', first)}
              >
                {words('start.clientDo')}
              </Button>
            </Step>
          </ol>
        </section>
      )}
      {creating && <EditDialog user={null} onClose={() => setCreating(false)} />}
    </>
  );
}

interface StepProps {
  readonly n: number;
  readonly isDone: boolean;
  readonly title: string;
  readonly text: string;
  /** The button that does it. */
  readonly children: ComponentChildren;
}

function Step({ n, isDone, title, text, children }: StepProps) {
  const words = useWords();
  return (
    <li class={isDone ? 'step step-done' : 'step'}>
      <span class="step-mark">{isDone ? <Icon name="check" /> : n}</span>
      <div>
        <strong>{title}</strong>
        {isDone && <span class="visually-hidden"> ({words('start.done')})</span>}
        <p class="hint">{text}</p>
      </div>
      {!isDone && children}
    </li>
  );
}
