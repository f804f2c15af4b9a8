import { useWords } from '../../i18n/text.js';
import { useTask } from '../../state/tasks.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { Difference, Meanwhile } from '../../ui/difference.js';
import { Failure, Notice } from '../../ui/notice.js';
import { textOfFile } from './content.js';
import type { FileEditing, OpenReview } from './file-editing.js';

/** The difference line by line, before anything is saved, and what somebody else has changed since the edit began. */
export function Review({ review, file }: { readonly review: OpenReview; readonly file: FileEditing }) {
  const words = useWords();
  const saving = useTask();
  const { present, plan, credentials } = review;
  const { overwrites, fields, keysGone } = plan;
  const save = () => saving.run(file.save);
  return (
    <Dialog title={words('config.reviewTitle')} kind="wide" onClose={file.closeReview}>
      <div class="dialog-body">
        <Failure of={saving.error} urgent />
        {overwrites !== null && (
          <Meanwhile
            before={textOfFile(overwrites)}
            now={present.content.text}
            isBusy={saving.busy}
            onTheirs={file.useTheirs}
            onMine={save}
          />
        )}
        {keysGone > 0 && <Notice tone="warn">{words('config.keysGone', { n: keysGone })}</Notice>}
        {credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${credentials}`)}</Notice>}
        <p class="hint">{words(fields === null ? 'config.comments' : 'config.fields')}</p>
        <Difference before={present.content.text} after={textOfFile(plan.after)} label={words('config.reviewTitle')} />
      </div>
      <DialogFoot
        onClose={file.closeReview}
        off={overwrites !== null && words('off.choose')}
        aria-disabled={saving.busy}
        data-autofocus=""
        onClick={save}
      >
        {words('config.save')}
      </DialogFoot>
    </Dialog>
  );
}
