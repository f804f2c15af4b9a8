import { useState } from 'preact/hooks';
import type { Change } from '../../api/jobs.js';
import { useWords } from '../../i18n/text.js';
import { UNDO_TIME } from '../../state/batch.js';
import { batchesOf } from '../../state/batches.js';
import { isAddressable, labelOf, type NamedKey, removalCommand } from '../../state/named-keys.js';
import { useWorkspace } from '../../state/workspace.js';
import { CopyButton } from '../../ui/copy.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';

/** More keys than this want their number typed. */
const TYPED_FROM = 10;
/** Names that are listed; beyond, their number is. */
const MOST_NAMES = 500;

export interface KeysDialogProps {
  readonly keys: readonly NamedKey[];
  /** The ones that the list does not show just now. */
  readonly unseen: ReadonlySet<string>;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface NamesProps extends Pick<KeysDialogProps, 'keys'> {
  /** Returns what becomes of a key, where that is shown. */
  readonly change?: ((key: NamedKey) => string) | undefined;
}

/** Names the keys that it is about, always; those that are not on the screen first, and apart. */
export function Names({ keys, unseen, change }: NamesProps & Pick<KeysDialogProps, 'unseen'>) {
  const words = useWords();
  const hidden = keys.filter(({ key }) => unseen.has(key));
  const seen = keys.filter(({ key }) => !unseen.has(key));
  return (
    <>
      {hidden.length > 0 && (
        <>
          <p class="hint hint-bad">{words('keys.notShown', { n: hidden.length })}</p>
          <NameList keys={hidden} change={change} />
        </>
      )}
      {seen.length > 0 && <NameList keys={seen} change={change} />}
    </>
  );
}

function NameList({ keys, change }: NamesProps) {
  const words = useWords();
  const more = keys.length - MOST_NAMES;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <ul class="subject" tabIndex={0}>
      {keys.slice(0, MOST_NAMES).map((key) => (
        <li key={key.key} class="line nowrap">
          <span class="grow">{labelOf(key)} </span>
          {change !== undefined && <span class="quiet">{change(key)}</span>}
        </li>
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
        <div key={key} class="line copy-line">
          <code class="wrap">{removalCommand(key, place)}</code>
          <CopyButton text={removalCommand(key, place)} label={words('delete.copyCommand')} />
        </div>
      ))}
      <p class="hint">{words('delete.credential')}</p>
    </>
  );
}

/** The number of keys, which is to be typed before more than a few of them are changed. */
export function useTypedCount(n: number) {
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState(false);
  const isAsked = n > TYPED_FROM;
  /** Returns true where the number is typed, or need not be; else says so at its field. */
  const confirm = () => {
    const isGood = !isAsked || typed.trim() === String(n);
    setWrong(!isGood);
    return isGood;
  };
  return { n: String(n), typed, setTyped, wrong, isAsked, confirm };
}

export function TypedCount({ n, typed, setTyped, wrong, isAsked }: ReturnType<typeof useTypedCount>) {
  const words = useWords();
  if (!isAsked) return null;
  return (
    <TextField
      label={words('delete.type', { n })}
      problem={wrong ? words('delete.typeWrong', { n }) : null}
      data-autofocus=""
      inputMode="numeric"
      value={typed}
      onType={setTyped}
    />
  );
}

/** Asks before keys are deleted, and then leaves a few seconds to take it back. */
export function DeleteDialog({ keys: all, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const batches = batchesOf(useWorkspace());
  const keys = all.filter(({ key }) => isAddressable(key));
  const others = all.filter(({ key }) => !isAddressable(key));
  const count = useTypedCount(keys.length);
  const submit = () => {
    if (!count.confirm()) return;
    batches.begin('delete', changesOf('delete', keys));
    onDone();
  };
  return (
    <FormDialog title={words('delete.title', { n: all.length })} onSubmit={submit} onClose={onClose}>
      {others.length > 0 && <Unaddressable keys={others} />}
      {keys.length > 0 && (
        <>
          <Names keys={keys} unseen={unseen} />
          <p>{words('delete.text', { n: keys.length, s: UNDO_TIME })}</p>
        </>
      )}
      <TypedCount {...count} />
      <DialogFoot onClose={onClose} isSafe={!count.isAsked} kind="danger">
        {keys.length > 0 && words('key.delete')}
      </DialogFoot>
    </FormDialog>
  );
}

/** Asks before counters go back to zero, and then leaves a few seconds to take it back. */
export function ResetDialog({ keys, unseen, onClose, onDone }: KeysDialogProps) {
  const words = useWords();
  const batches = batchesOf(useWorkspace());
  const submit = () => {
    batches.begin('reset', changesOf('reset', keys));
    onDone();
  };
  return (
    <FormDialog title={words('reset.title', { n: keys.length })} onSubmit={submit} onClose={onClose}>
      <Names keys={keys} unseen={unseen} />
      <p>{words('reset.text', { s: UNDO_TIME })}</p>
      <DialogFoot onClose={onClose}>{words('key.resetCounters')}</DialogFoot>
    </FormDialog>
  );
}

function changesOf(op: 'delete' | 'reset', keys: readonly NamedKey[]): readonly Change[] {
  return keys.map(({ key }) => ({ item: { op, access_key: key } }));
}
