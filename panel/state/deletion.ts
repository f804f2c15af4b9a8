import { wordsIn } from '../i18n/text.js';
import { preferences } from '../store/preferences.js';
import { createStore, type Store } from '../store/store.js';
import { note } from './audit-notes.js';
import { runBatch } from './batch.js';
import { failureText, labelOf, type NamedKey } from './named-keys.js';
import { perWorkspace } from './per-workspace.js';
import { say } from './toasts.js';
import type { Workspace } from './workspace.js';

/** Milliseconds in which a confirmed deletion can still be taken back, because the server could not bring counters back. */
export const UNDO_TIME = 5_000;

/** A server's keys whose deletion was confirmed and is not sent yet. */
export const leavingOf = perWorkspace<Store<ReadonlySet<string>>>(() => createStore<ReadonlySet<string>>(new Set()));

/** Deletes after the time to undo; when the page is left before, at once. */
export function deleteLater(workspace: Workspace, keys: readonly NamedKey[]): void {
  const words = wordsIn(preferences.get().language);
  const leaving = leavingOf(workspace);
  leaving.set(new Set([...leaving.get(), ...keys.map(({ key }) => key)]));
  const end = () => {
    clearTimeout(timer);
    window.removeEventListener('pagehide', leave);
    dismiss();
  };
  const undo = () => {
    end();
    release(leaving, keys);
    say({ tone: 'plain', text: words('delete.kept') });
  };
  const leave = () => {
    end();
    for (const { key } of keys) workspace.server.deleteUser(key, true).catch(() => undefined);
    // Nobody is here to hear the answers: what was asked for is noted as done.
    note(workspace, 'deleteKeys', true, { n: keys.length });
  };
  const timer = setTimeout(() => {
    end();
    void deleteNow(workspace, keys);
  }, UNDO_TIME);
  window.addEventListener('pagehide', leave);
  const [first] = keys;
  const dismiss = say({
    tone: 'plain',
    text: words('delete.waiting', { n: keys.length, name: first === undefined ? '' : labelOf(first) }),
    action: { label: words('action.undo'), run: undo },
    lasts: UNDO_TIME,
  });
}

async function deleteNow(workspace: Workspace, keys: readonly NamedKey[]): Promise<void> {
  const words = wordsIn(preferences.get().language);
  const { done, failed } = await runBatch(keys, ({ key }) => workspace.server.deleteUser(key)).finished;
  note(workspace, 'deleteKeys', failed.length === 0, { n: keys.length });
  await workspace.contact.now();
  release(leavingOf(workspace), keys);
  if (done > 0) say({ tone: 'good', text: words('delete.done', { n: done }) });
  if (failed.length > 0) say({ tone: 'bad', text: failureText('delete', failed, words), lasts: null });
}

function release(leaving: Store<ReadonlySet<string>>, keys: readonly NamedKey[]): void {
  const gone = new Set(keys.map(({ key }) => key));
  leaving.set(new Set([...leaving.get()].filter((key) => !gone.has(key))));
}
