import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sentence, useWords, type Words } from '../i18n/text.js';
import { type Batch, failureText, stoppedText, UNDO_TIME, unsavedIn } from '../state/batch.js';
import { batchesOf } from '../state/batches.js';
import { labelOf, type NamedKey } from '../state/named-keys.js';
import { useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { Button, IconButton } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Failure, Notice, Progress } from '../ui/notice.js';
import { Handout } from './keys/handout.js';

/** Failures that are told line by line; beyond, their number is. */
const MOST_LINES = 500;

/** The keys that a batch has made. */
function madeBy({ changes, outcomes }: Batch): readonly NamedKey[] {
  return outcomes.flatMap(({ index, key, ok }) => {
    const item = changes[index]?.item;
    return ok === true && item?.op === 'create' ? [{ key, name: item.name ?? '' }] : [];
  });
}

function textOf({ verb, phase, name, total: n, isStopped }: Batch, words: Words): string {
  if (isStopped) return words('batch.stopping');
  const now = words(`batch.now.${verb}`, { n, name });
  return phase === 'soon' && (verb === 'delete' || verb === 'reset')
    ? words(`batch.soon.${verb}`, { n, name, s: UNDO_TIME })
    : now;
}

function doneText(batch: Batch, words: Words): string {
  const unsaved = unsavedIn(batch);
  const done = words(`batch.done.${batch.verb}`, { n: batch.done });
  return unsaved === null ? done : `${done} ${sentence(unsaved, words)}`;
}

/** The bar of batches of keys, on every page: how far each is, what failed, and what can be done about it. */
export function BatchBar() {
  const words = useWords();
  const batches = batchesOf(useWorkspace());
  const list = useStore(batches.list).filter(({ isShown }) => !isShown);
  const [opened, setOpened] = useState<number | null>(null);
  const bar = useRef<HTMLElement>(null);
  // The messages in the corner make room for it.
  useLayoutEffect(() => {
    document.documentElement.style.setProperty('--batches', `${bar.current?.offsetHeight ?? 0}px`);
  });
  return (
    <>
      {list.length > 0 && (
        <section ref={bar} class="batches" aria-label={words('batch.bar')}>
          {list.map((batch) => (
            <Line key={batch.id} batch={batch} onShow={() => setOpened(batch.id)} />
          ))}
        </section>
      )}
      {opened !== null && <BatchWindow id={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

function Line({ batch, onShow }: { readonly batch: Batch; readonly onShow: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const batches = batchesOf(workspace);
  const { id, phase, done, failed, changes, isStopped } = batch;
  const isOver = phase === 'over';
  const text =
    failed > 0 && isOver
      ? failureText(batch, workspace.users.state.get().byKey, words)
      : isOver
        ? doneText(batch, words)
        : textOf(batch, words);
  return (
    <div class={failed > 0 ? 'line batch batch-bad' : 'line batch'}>
      <span role={isOver && failed > 0 ? 'alert' : 'status'}>{text}</span>
      {phase === 'running' && <Progress done={done + failed} total={batch.total} />}
      {!isOver && !isStopped && (
        <Button kind="small" onClick={() => batches.stop(id)}>
          {words(phase === 'soon' ? 'action.undo' : 'batch.stop')}
        </Button>
      )}
      {isOver && (
        <>
          {madeBy(batch).length > 0 && (
            <Button kind="small" onClick={onShow}>
              {words('action.show')}
            </Button>
          )}
          {changes.length > 0 && failed > 0 && (
            <Button kind="small" onClick={() => batches.again(batch)}>
              {words('login.retry')}
            </Button>
          )}
          <IconButton icon="close" label={words('action.dismiss')} onClick={() => batches.dismiss(id)} />
        </>
      )}
    </div>
  );
}

interface BatchWindowProps {
  readonly id: number;
  readonly onClose: () => void;
}

/** One batch by itself: its progress, and then what failed by name, and the new keys to hand out. */
export function BatchWindow({ id, onClose }: BatchWindowProps) {
  const words = useWords();
  const batches = batchesOf(useWorkspace());
  const batch = useStore(batches.list, (list) => list.find((each) => each.id === id));
  // Not after it is drawn: one that is closed at once is to be heard of, too.
  useLayoutEffect(() => {
    batches.show(id, true);
    return () => batches.show(id, false);
  }, [id]);
  if (batch === undefined) return null;
  if (batch.phase !== 'over') {
    return (
      <Dialog title={textOf(batch, words)} onClose={onClose}>
        <div class="dialog-body">
          <footer class="line dialog-foot">
            <Progress done={batch.done + batch.failed} total={batch.total} />
            <Button onClick={() => batches.stop(id)}>{words('batch.stop')}</Button>
          </footer>
        </div>
      </Dialog>
    );
  }
  const made = madeBy(batch);
  return (
    <Dialog title={words(`batch.done.${batch.verb}`, { n: batch.done })} onClose={onClose}>
      <div class="dialog-body">
        {batch.done + batch.failed < batch.total && <Notice tone="warn">{stoppedText(batch, words)}</Notice>}
        {batch.failed > 0 && <Failures of={batch} />}
        <Failure of={unsavedIn(batch)} urgent />
        {made.length > 0 && batch.verb === 'create' && <p>{words('bulk.keep')}</p>}
        {made.length > 0 && <Handout keys={() => made} />}
      </div>
    </Dialog>
  );
}

/** The failures, of a table by its lines. */
function Failures({ of: batch }: { readonly of: Batch }) {
  const words = useWords();
  const { users } = useWorkspace();
  const { changes, outcomes } = batch;
  const lines = outcomes.flatMap(({ index, key, ok, error }) => {
    const change = changes[index];
    if (ok !== false || change?.line === undefined) return [];
    const name = ('name' in change.item && change.item.name) || '';
    const label = labelOf({ key, name });
    return [words('import.failedLine', { line: String(change.line), name: label, why: sentence(error, words) })];
  });
  return (
    <Notice tone="bad" urgent>
      {lines.length === 0 ? (
        failureText(batch, users.state.get().byKey, words)
      ) : (
        <ul>
          {lines.slice(0, MOST_LINES).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
