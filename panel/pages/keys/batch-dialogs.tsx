import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type MessageName, sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { type Batch, runBatch } from '../../state/batch.js';
import { deleteLater, UNDO_TIME } from '../../state/deletion.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { LimitField, useLimit } from './limit-field.js';

/** More keys than this want their number typed. */
const TYPED_FROM = 10;

interface KeysDialogProps {
  readonly keys: readonly string[];
  /** What people call the key, where it is one. */
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Asks before keys are deleted, and then leaves a few seconds to take it back. */
export function DeleteDialog({ keys, name, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState(false);
  const mustType = keys.length > TYPED_FROM;
  const submit = (event: Event) => {
    event.preventDefault();
    if (mustType && typed.trim() !== String(keys.length)) {
      setWrong(true);
      return;
    }
    deleteLater(workspace, keys, name);
    onDone();
  };
  return (
    <Dialog title={words('delete.title', { n: keys.length })} onClose={onClose}>
      <form class="dialog-body" onSubmit={submit}>
        {keys.length === 1 && <p class="subject">{name}</p>}
        <p>{words('delete.text', { n: keys.length, s: UNDO_TIME / 1000 })}</p>
        {mustType && (
          <Field
            label={words('delete.type', { n: String(keys.length) })}
            problem={wrong ? words('delete.typeWrong', { n: String(keys.length) }) : null}
          >
            {(control) => (
              <input
                {...control}
                data-autofocus=""
                inputMode="numeric"
                autocomplete="off"
                value={typed}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <footer class="dialog-foot">
          <button type="button" class="button" data-autofocus={mustType ? undefined : ''} onClick={onClose}>
            {words('action.cancel')}
          </button>
          <button type="submit" class="button button-danger">
            {words('key.delete')}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Asks before counters go back to zero. */
export function ResetDialog({ keys, name, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const { server } = useWorkspace();
  const batch = useKeyBatch('reset.done', 'event.resetKeys', onDone);
  return (
    <Dialog title={words('reset.title', { n: keys.length })} onClose={onClose}>
      <form class="dialog-body" onSubmit={(event) => batch.start(event, keys, (key) => server.resetUser(key))}>
        {keys.length === 1 && <p class="subject">{name}</p>}
        <p>{words('reset.text')}</p>
        <BatchFoot batch={batch.running} onClose={onClose} label={words('key.reset')} />
      </form>
    </Dialog>
  );
}

/** Gives several keys the same limit. */
export function LimitDialog({ keys, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const { server } = useWorkspace();
  const limit = useLimit(null);
  const batch = useKeyBatch('limit.done', 'event.setLimit', onDone);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!limit.reading.ok) return;
    const { bytes } = limit.reading;
    batch.start(event, keys, (key) => server.setLimit(key, bytes));
  };
  return (
    <Dialog title={words('limit.title', { n: keys.length })} onClose={onClose}>
      <form class="dialog-body" onSubmit={submit}>
        <LimitField draft={limit.draft} reading={limit.reading} onChange={limit.setDraft} autofocus />
        <BatchFoot batch={batch.running} onClose={onClose} label={words('action.save')} />
      </form>
    </Dialog>
  );
}

/** Runs one operation over keys, notes it, and says how it went. */
function useKeyBatch(done: MessageName, event: Parameters<typeof note>[1], onDone: () => void) {
  const words = useWords();
  const workspace = useWorkspace();
  const [running, setRunning] = useState<Batch | null>(null);
  const start = (submit: Event, keys: readonly string[], act: (key: string) => Promise<void>) => {
    submit.preventDefault();
    if (running !== null) return;
    const batch = runBatch(keys, act);
    setRunning(batch);
    void batch.finished.then((end) => {
      note(workspace, event, end.failed === 0, { n: end.done });
      void workspace.contact.now();
      if (end.failed > 0)
        say({ tone: 'bad', text: words('batch.failed', { n: end.failed, why: sentence(end.error, words) }) });
      else if (end.stopped) say({ tone: 'plain', text: words('batch.stopped', { done: end.done, n: end.total }) });
      else say({ tone: 'good', text: words(done, { n: end.done }) });
      onDone();
    });
  };
  return { running, start };
}

interface BatchFootProps {
  readonly batch: Batch | null;
  readonly onClose: () => void;
  readonly label: string;
  readonly children?: ComponentChildren;
}

/** Cancel and go; while it runs, how far it is and a way to stop. */
export function BatchFoot({ batch, onClose, label }: BatchFootProps) {
  const words = useWords();
  if (batch !== null) return <Progress batch={batch} />;
  return (
    <footer class="dialog-foot">
      <button type="button" class="button" onClick={onClose}>
        {words('action.cancel')}
      </button>
      <button type="submit" class="button button-primary">
        {label}
      </button>
    </footer>
  );
}

export function Progress({ batch }: { readonly batch: Batch }) {
  const words = useWords();
  const { done, failed, total } = useStore(batch.state);
  const text = words('batch.progress', { done: done + failed, n: total });
  return (
    <footer class="dialog-foot progress">
      <progress max={total} value={done + failed} aria-label={text} />
      <span>{text}</span>
      <button type="button" class="button" onClick={batch.stop}>
        {words('batch.stop')}
      </button>
    </footer>
  );
}
