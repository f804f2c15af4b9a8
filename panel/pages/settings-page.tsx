import type { ComponentChildren } from 'preact';
import { useWords } from '../i18n/text.js';
import type { useServerDraft } from '../state/drafts.js';
import { printExact } from '../text/exact-json.js';
import { Meanwhile } from '../ui/difference.js';
import { Failure, Loading } from '../ui/notice.js';
import { EditTools, Page } from '../ui/page.js';

type Edit<T> = ReturnType<typeof useServerDraft<T>>;

interface SettingsPageProps<T> {
  readonly title: string;
  readonly edit: Edit<T>;
  /** False where something typed is wrong: then nothing can be saved. */
  readonly valid?: boolean;
  /** Stands on the button that saves. */
  readonly save: string;
  /** Further buttons. */
  readonly tools?: ComponentChildren;
  /** Stands in the place of the sentence for a failure. */
  readonly failure?: ComponentChildren;
  /** Stands before the settings, also while they are awaited. */
  readonly lead?: ComponentChildren;
  /** Draws the settings once they are there. */
  readonly children: (draft: NonNullable<Edit<T>['draft']>) => ComponentChildren;
}

/** A page for settings that a server has operations for: what is not saved, what others made of them meanwhile, and the way to save. */
export function SettingsPage<T>({
  title,
  edit,
  valid = true,
  save,
  tools,
  failure,
  lead,
  children,
}: SettingsPageProps<T>) {
  const words = useWords();
  const { draft, theirs, busy, loadError, saveError } = edit;
  const all = (
    <EditTools
      isDirty={edit.isDirty()}
      off={(!valid && words('off.invalid')) || (theirs !== null && words('off.choose'))}
      onDiscard={edit.discard}
      save={save}
      aria-disabled={busy}
      onClick={edit.save}
    >
      {tools}
    </EditTools>
  );
  return (
    <Page title={title} tools={all}>
      {failure || <Failure of={saveError ?? loadError} urgent />}
      {draft === null && loadError === null && <Loading />}
      {lead}
      {draft !== null && theirs !== null && (
        <Meanwhile
          before={printExact(draft.base)}
          now={printExact(theirs)}
          isBusy={busy}
          onTheirs={edit.discard}
          onMine={edit.saveOver}
        />
      )}
      {draft !== null && children(draft)}
    </Page>
  );
}
