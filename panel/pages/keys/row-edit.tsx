import { useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { labelOf } from '../../state/named-keys.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { readLimit } from '../../text/sizes.js';
import { Button, IconButton } from '../../ui/button.js';
import { limitText, raised } from './limit-field.js';
import { changeKey } from './save-key.js';

interface RowEditProps {
  readonly user: User;
  readonly onClose: () => void;
}

/** Name and limit of a key, edited where they stand. Enter saves, Escape leaves them as they were. */
export function RowEdit({ user: given, onClose }: RowEditProps) {
  const words = useWords();
  const workspace = useWorkspace();
  // The key at the beginning of the edit: what changes meanwhile is not of this edit.
  const [user] = useState(given);
  const [name, setName] = useState(user.name ?? '');
  const [limit, setLimit] = useState(() => limitText(user.limit_bytes, words.language));
  const [busy, setBusy] = useState(false);
  const reading = readLimit(limit, 'GiB');
  const label = labelOf({ key: user.access_key, name: user.name ?? '' });
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy || !reading.ok) return;
    setBusy(true);
    try {
      await changeKey(workspace, user, { ...(user.name === undefined ? {} : { name }), limit: reading.bytes });
      await workspace.contact.now();
      say({ tone: 'good', text: words('edit.saved', { name: labelOf({ key: user.access_key, name }) }) });
      onClose();
    } catch (problem) {
      note(workspace, 'updateKey', false);
      say({ tone: 'bad', text: words('failed.save', { name: label, why: sentence(problem, words) }) });
      setBusy(false);
    }
  };
  return (
    <form
      class="row-edit"
      onSubmit={save}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onClose();
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
        onInput={(event) => setName(event.currentTarget.value)}
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
        onClick={() => reading.ok && setLimit(limitText(raised(reading.bytes), words.language))}
      >
        {words('edit.more')}
      </Button>
      <Button type="submit" kind="small button-primary" aria-disabled={busy}>
        {words('action.save')}
      </Button>
      <IconButton icon="close" label={words('action.cancel')} onClick={onClose} />
    </form>
  );
}

/** Selects the text as the field appears, and not at every later drawing. */
function focusOnce(input: HTMLInputElement | null): void {
  if (input === null || input.dataset.focused !== undefined) return;
  input.dataset.focused = '';
  if (!input.disabled) input.select();
}
