import type { Whole } from '../../../src/text/whole.js';
import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { limitOf } from '../../state/limits.js';
import { isAddressable } from '../../state/named-keys.js';
import { goTo } from '../../state/route.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Switch, TextField, VERBATIM } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { LimitField } from './limit-field.js';
import { createKey, isOtherKey, newKeyProblem, saveKey, useKeyDraft } from './save-key.js';

/** Characters. Nothing shows a longer name, and the request would be refused somewhere on its way. */
const LONGEST_NAME = 10_000;

interface EditDialogProps {
  /** Null creates a key. */
  readonly user: User | null;
  readonly onClose: () => void;
}

/** Creates a key, or changes the label, note and limit of one. */
export function EditDialog({ user: given, onClose }: EditDialogProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const users = useStore(workspace.users.state);
  const draft = useKeyDraft(given);
  const { user, name, note, key, generated, keepName } = draft.form;
  const hasNotes = users.hasNotes && (user === null || isAddressable(user.access_key));
  const limit = limitOf(draft.form.limit, (next) => draft.change({ limit: next }));
  const saving = useTask();
  const discard = () => {
    draft.discard();
    onClose();
  };
  const isOther = user !== null && isOtherKey(user, users.byKey.get(user.access_key));
  const nameProblem =
    name.length > LONGEST_NAME ? words('edit.nameTooLong', { n: name.length, most: LONGEST_NAME }) : null;
  const keyProblem = user === null ? newKeyProblem(key, users, words) : null;
  const hidesNames = user !== null && user.name === undefined;

  const save = async (bytes: Whole | null) => {
    if (user === null) {
      const { made, noteError } = await createKey(workspace, key || generated, {
        name,
        note: hasNotes ? note : '',
        limit: bytes,
      });
      if (noteError) {
        // From here on the key is the one that is edited, so that its note can be saved again.
        draft.change({ user: made });
        throw noteError;
      }
      discard();
      goTo('keys', made.access_key);
      return;
    }
    await saveKey(workspace, user, { ...(!keepName && { name }), ...(hasNotes && { note }), limit: bytes });
    discard();
  };
  const submit = async () => {
    if (nameProblem !== null || keyProblem !== null || !limit.reading.ok) return;
    const { bytes } = limit.reading;
    await saving.run(() => save(bytes));
  };

  return (
    <FormDialog title={words(user === null ? 'edit.new' : 'edit.title')} onSubmit={submit} onClose={onClose}>
      {isOther && !saving.busy && <Notice tone="warn">{words('meanwhile.changed')}</Notice>}
      {user !== given && <Notice tone="warn">{words('edit.noteUnsaved')}</Notice>}
      <Failure of={saving.error} urgent />
      {hidesNames && (
        <Switch label={words('edit.nameKeep')} checked={keepName} onChange={(on) => draft.change({ keepName: on })} />
      )}
      <TextField
        label={words('keys.label')}
        hint={words(hidesNames ? 'edit.nameUnseen' : 'edit.nameHint')}
        problem={nameProblem}
        data-autofocus=""
        disabled={keepName}
        value={name}
        onType={(typed) => draft.change({ name: typed })}
      />
      {hasNotes && (
        <TextField
          label={words('keys.note')}
          hint={words('edit.noteHint')}
          maxLength={1_000}
          value={note}
          onType={(typed) => draft.change({ note: typed })}
        />
      )}
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
