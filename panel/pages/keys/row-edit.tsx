import { useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { sentence, useWords } from '../../i18n/text.js';
import { limitDraft, limitText, raised } from '../../state/limits.js';
import { labelOf } from '../../state/named-keys.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { readLimit } from '../../text/sizes.js';
import { Button, IconButton } from '../../ui/button.js';
import { saveKey, useKeyDraft } from './save-key.js';

interface RowEditProps {
  readonly user: User;
  readonly onClose: () => void;
}

/** Name and limit of a key, edited where they stand. Enter saves; Escape keeps what is typed for the next time. */
export function RowEdit({ user: given, onClose }: RowEditProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const draft = useKeyDraft(given);
  const { user, name } = { ...draft.form, user: draft.form.user ?? given };
  const [limit, setText] = useState(() => limitText(draft.form.limit, words.language));
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const reading = readLimit(limit, 'GiB');
  const setLimit = (amount: string) => {
    setText(amount);
    draft.change({ limit: { amount, unit: 'GiB' } });
  };
  const leave = () => {
    // Not from where somebody types by now, who did not wait for the answer.
    if (form.current?.matches(':focus-within')) form.current.closest<HTMLElement>('.grid')?.focus();
    onClose();
  };
  const close = () => {
    draft.discard();
    leave();
  };
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy || !reading.ok) return;
    setBusy(true);
    try {
      await saveKey(workspace, user, { ...(user.name === undefined ? {} : { name }), limit: reading.bytes });
      close();
    } catch (problem) {
      const label = labelOf({ key: user.access_key, name: user.name ?? '' });
      say('bad', (words) => words('failed.save', { name: label, why: sentence(problem, words) }));
      setBusy(false);
    }
  };
  return (
    <form
      ref={form}
      class="row-edit"
      onSubmit={save}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') leave();
      }}
    >
      <input
        class="grow"
        aria-label={words('keys.name')}
        placeholder={words(user.name === undefined ? 'keys.untold' : 'keys.name')}
        title={user.name === undefined ? words('absent.names') : undefined}
        disabled={user.name === undefined}
        autocomplete="off"
        maxLength={10_000}
        value={name}
        ref={focusOnce}
        onInput={(event) => draft.change({ name: event.currentTarget.value })}
      />
      <input
        class="row-edit-limit"
        aria-label={words('keys.limit')}
        aria-invalid={!reading.ok}
        title={reading.ok ? words('edit.limitHint') : words(`edit.limit.${reading.problem}`)}
        placeholder={words('keys.unlimited')}
        autocomplete="off"
        value={limit}
        onInput={(event) => setLimit(event.currentTarget.value)}
      />
      <Button
        kind="small"
        off={!reading.ok && words(`edit.limit.${reading.problem}`)}
        onClick={() => reading.ok && setLimit(limitText(limitDraft(raised(reading.bytes)), words.language))}
      >
        {words('edit.more')}
      </Button>
      <Button type="submit" kind="small button-primary" aria-disabled={busy}>
        {words('action.save')}
      </Button>
      <IconButton icon="close" label={words('action.cancel')} onClick={close} />
    </form>
  );
}

/** Selects the text as the field appears, and not at every later drawing. */
function focusOnce(input: HTMLInputElement | null): void {
  if (input === null || input.dataset.focused !== undefined) return;
  input.dataset.focused = '';
  if (!input.disabled) input.select();
}
