import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { goTo } from '../../state/route.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import type { Whole } from '../../text/exact-json.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Switch, TextField, VERBATIM } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { LimitField, limitOf } from './limit-field.js';
import { changeKey, createKey, saySaved, useKeyDraft } from './save-key.js';

/** Characters. Nothing shows a longer name, and the request would be refused somewhere on its way. */
const LONGEST_NAME = 10_000;

interface EditDialogProps {
  /** Null creates a key. */
  readonly user: User | null;
  readonly onClose: () => void;
}

/** Creates a key, or changes the name and limit of one. */
export function EditDialog({ user: given, onClose }: EditDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const { users, byKey } = useStore(workspace.users.state);
  const draft = useKeyDraft(given);
  const { user, name, key, keepName } = draft.form;
  const limit = limitOf(draft.form.limit, (next) => draft.change({ limit: next }));
  const saving = useTask();
  const discard = () => {
    draft.discard();
    onClose();
  };
  const now = user === null ? undefined : byKey.get(user.access_key);
  const changed =
    user !== null && now !== undefined && (now.name !== user.name || now.limit_bytes !== user.limit_bytes);
  const nameProblem =
    name.length > LONGEST_NAME ? words('edit.nameTooLong', { n: name.length, most: LONGEST_NAME }) : null;
  const keyProblem =
    (byKey.has(key) && words('edit.exists')) ||
    ((key === '.' || key === '..') && words('edit.dotKey')) ||
    // One that exists would be made anew.
    (users === null && key !== '' && words('keys.loading')) ||
    null;
  const hidesNames = user !== null && user.name === undefined;

  const save = async (bytes: Whole | null) => {
    if (user === null) {
      const made = await createKey(workspace, { key, name, limit: bytes });
      note(workspace, 'createKey', true);
      await workspace.contact.now();
      discard();
      goTo('keys', made);
      return;
    }
    await changeKey(workspace, user, { ...(keepName ? {} : { name }), limit: bytes });
    saySaved(user, name);
    discard();
  };
  const submit = async () => {
    if (nameProblem !== null || keyProblem !== null || !limit.reading.ok) return;
    const { bytes } = limit.reading;
    await saving.run(() =>
      save(bytes).catch((problem: unknown) => {
        note(workspace, user === null ? 'createKey' : 'updateKey', false);
        throw problem;
      }),
    );
    void workspace.contact.now();
  };

  return (
    <FormDialog title={words(user === null ? 'edit.new' : 'edit.title')} onSubmit={submit} onClose={onClose}>
      {changed && <Notice tone="warn">{words('edit.changed')}</Notice>}
      <Failure of={saving.error} urgent />
      {hidesNames && (
        <Switch label={words('edit.nameKeep')} checked={keepName} onChange={(on) => draft.change({ keepName: on })} />
      )}
      <TextField
        label={words('keys.name')}
        hint={words(hidesNames ? 'edit.nameUnseen' : 'edit.nameHint')}
        problem={nameProblem}
        data-autofocus=""
        disabled={keepName}
        value={name}
        onType={(typed) => draft.change({ name: typed })}
      />
      {user === null && (
        <TextField
          {...VERBATIM}
          label={words('keys.key')}
          hint={words('edit.keyHint')}
          problem={keyProblem}
          autocapitalize="off"
          value={key}
          onType={(typed) => draft.change({ key: typed })}
        />
      )}
      <LimitField {...limit} />
      <DialogFoot onClose={discard} aria-disabled={saving.busy}>
        {words(user === null ? 'edit.create' : 'action.save')}
      </DialogFoot>
    </FormDialog>
  );
}
