import { useState } from 'preact/hooks';
import { type MessageName, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { type Batch, runBatch } from '../../state/batch.js';
import { deleteLater, UNDO_TIME } from '../../state/deletion.js';
import {
  type Action,
  failureText,
  isAddressable,
  labelOf,
  type NamedKey,
  removalCommand,
} from '../../state/named-keys.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { LimitField, useLimit } from './limit-field.js';

/** More keys than this want their number typed. */
const TYPED_FROM = 10;
/** Names that are listed; beyond, their number is. */
const MOST_NAMES = 2_000;

interface KeysDialogProps {
  readonly keys: readonly NamedKey[];
  /** The ones that the list does not show just now. */
  readonly unseen: ReadonlySet<string>;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Names the keys that it is about, always; those that are not on the screen first, and apart. */
function Names({ keys, unseen }: Pick<KeysDialogProps, 'keys' | 'unseen'>) {
  const words = useWords();
  const hidden = keys.filter(({ key }) => unseen.has(key));
  const seen = keys.filter(({ key }) => !unseen.has(key));
  return (
    <>
      {hidden.length > 0 && (
        <>
          <p class="hint hint-bad">{words('keys.notShown', { n: hidden.length })}</p>
          <NameList keys={hidden} />
        </>
      )}
      {seen.length > 0 && <NameList keys={seen} />}
    </>
  );
}

function NameList({ keys }: { readonly keys: readonly NamedKey[] }) {
  const words = useWords();
  const more = keys.length - MOST_NAMES;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <ul class="subject" tabIndex={0}>
      {keys.slice(0, MOST_NAMES).map((key) => (
        <li key={key.key}>{labelOf(key)}</li>
      ))}
      {more > 0 && <li class="quiet">{words('failed.more', { n: more })}</li>}
    </ul>
  );
}

/** The commands that remove keys which the page cannot delete; at most three of them are there. */
function Unaddressable({ keys }: Pick<KeysDialogProps, 'keys'>) {
  const words = useWords();
  const { place } = useWorkspace();
  return (
    <>
      <p>{words('delete.unaddressable', { n: keys.length })}</p>
      {keys.map(({ key }) => (
        <div key={key} class="copy-line">
          <code class="wrap">{removalCommand(key, place)}</code>
          <CopyButton text={removalCommand(key, place)} label={words('delete.copyCommand')} />
        </div>
      ))}
      <p class="hint">{words('delete.credential')}</p>
    </>
  );
}

/** Asks before keys are deleted, and then leaves a few seconds to take it back. */
export function DeleteDialog({ keys: all, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const keys = all.filter(({ key }) => isAddressable(key));
  const others = all.filter(({ key }) => !isAddressable(key));
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState(false);
  const mustType = keys.length > TYPED_FROM;
  const submit = () => {
    if (mustType && typed.trim() !== String(keys.length)) {
      setWrong(true);
      return;
    }
    deleteLater(workspace, keys);
    onDone();
  };
  return (
    <FormDialog title={words('delete.title', { n: all.length })} onSubmit={submit} onClose={onClose}>
      {others.length > 0 && <Unaddressable keys={others} />}
      {keys.length > 0 && (
        <>
          <Names keys={keys} unseen={unseen} />
          <p>{words('delete.text', { n: keys.length, s: UNDO_TIME / 1000 })}</p>
        </>
      )}
      {mustType && (
        <TextField
          label={words('delete.type', { n: String(keys.length) })}
          problem={wrong ? words('delete.typeWrong', { n: String(keys.length) }) : null}
          data-autofocus=""
          inputMode="numeric"
          value={typed}
          onType={setTyped}
        />
      )}
      <DialogFoot onClose={onClose} isSafe={!mustType}>
        {keys.length > 0 && (
          <Button type="submit" kind="danger">
            {words('key.delete')}
          </Button>
        )}
      </DialogFoot>
    </FormDialog>
  );
}

/** Asks before counters go back to zero. */
export function ResetDialog({ keys, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const { server } = useWorkspace();
  const batch = useKeyBatch('reset', 'resetKeys', onDone);
  return (
    <FormDialog
      title={words('reset.title', { n: keys.length })}
      onSubmit={() => batch.start(keys, ({ key }) => server.resetUser(key))}
      onClose={onClose}
    >
      <Names keys={keys} unseen={unseen} />
      <p>{words('reset.text')}</p>
      <BatchFoot batch={batch.running} onClose={onClose} label={words('key.reset')} />
    </FormDialog>
  );
}

/** Gives several keys the same limit. */
export function LimitDialog({ keys, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const { server } = useWorkspace();
  const limit = useLimit(null);
  const batch = useKeyBatch('limit', 'setLimit', onDone);
  const submit = () => {
    if (!limit.reading.ok) return;
    const { bytes } = limit.reading;
    batch.start(keys, ({ key }) => server.setLimit(key, bytes));
  };
  return (
    <FormDialog title={words('limit.title', { n: keys.length })} onSubmit={submit} onClose={onClose}>
      <Names keys={keys} unseen={unseen} />
      <LimitField {...limit} autofocus />
      <BatchFoot batch={batch.running} onClose={onClose} label={words('action.save')} />
    </FormDialog>
  );
}

const DONE: Readonly<Record<'limit' | 'reset', MessageName>> = { limit: 'limit.done', reset: 'reset.done' };

/** Runs one operation over keys, notes it, and says how it went. */
function useKeyBatch(action: Action & keyof typeof DONE, event: Parameters<typeof note>[1], onDone: () => void) {
  const words = useWords();
  const workspace = useWorkspace();
  const [running, setRunning] = useState<Batch<NamedKey> | null>(null);
  const start = (keys: readonly NamedKey[], act: (key: NamedKey) => Promise<void>) => {
    if (running !== null) return;
    const batch = runBatch(keys, act);
    setRunning(batch);
    void batch.finished.then(({ done, failed, stopped, total }) => {
      note(workspace, event, failed.length === 0, { n: done });
      void workspace.contact.now();
      if (failed.length > 0) say({ tone: 'bad', text: failureText(action, failed, words), lasts: null });
      else if (stopped) say({ tone: 'plain', text: words('batch.stopped', { done, n: total }) });
      if (done > 0 && !stopped) say({ tone: 'good', text: words(DONE[action], { n: done }) });
      onDone();
    });
  };
  return { running, start };
}

interface BatchFootProps<T> {
  readonly batch: Batch<T> | null;
  readonly onClose: () => void;
  readonly label: string;
}

/** Cancel and go; while it runs, how far it is and a way to stop. */
export function BatchFoot<T>({ batch, onClose, label }: BatchFootProps<T>) {
  if (batch !== null) return <Progress batch={batch} />;
  return (
    <DialogFoot onClose={onClose}>
      <Button type="submit" kind="primary">
        {label}
      </Button>
    </DialogFoot>
  );
}

function Progress<T>({ batch }: { readonly batch: Batch<T> }) {
  const words = useWords();
  const { done, failed, total } = useStore(batch.state);
  const ended = done + failed.length;
  const text = words('batch.progress', { done: ended, n: total });
  return (
    <footer class="dialog-foot progress">
      <progress max={total} value={ended} aria-label={text} />
      <span>{text}</span>
      <Button onClick={batch.stop}>{words('batch.stop')}</Button>
    </footer>
  );
}
