import { useEffect } from 'preact/hooks';
import type { KeptVersion } from '../../api/kept-versions.js';
import { useWords, type Words } from '../../i18n/text.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Age } from '../../ui/age.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { Difference } from '../../ui/difference.js';
import { Empty, Failure, Listed, Notice } from '../../ui/notice.js';
import { type OpenVersion, versionsOf } from './versions.js';

/** The kept versions of the configuration: when and why each was kept, and what its restore would change. */
export function VersionsView({ onEdit }: { readonly onEdit: () => void }) {
  const words = useWords();
  const versions = versionsOf(useWorkspace());
  const { list, open } = useStore(versions.state);
  const task = useTask();
  useEffect(() => void task.run(versions.load), [versions]);
  return (
    <>
      <Listed
        items={list}
        error={task.error}
        urgent
        empty={
          <Empty icon="configuration" title={words('versions.none')} text={words('versions.noneText')}>
            <Button kind="primary" onClick={onEdit}>
              {words('key.edit')}
            </Button>
          </Empty>
        }
      >
        {(all) => (
          <ol class="card card-flush entries" aria-label={words('config.view.versions')}>
            {all.map((version) => (
              <li key={version.id} class="line event">
                <Age time={version.keptAt} />
                <p>
                  {words(`versions.reason.${version.reason}`)}
                  <span class="quiet">{changesText(version, words)}</span>
                </p>
                <Button kind="small" aria-disabled={task.busy} onClick={() => task.run(() => versions.look(version))}>
                  {words('versions.compare')}
                </Button>
              </li>
            ))}
          </ol>
        )}
      </Listed>
      {open !== null && <VersionDialog open={open} />}
    </>
  );
}

const KINDS = ['added', 'removed', 'changed'] as const;

/** Says what a restore would change, behind what is said before; nothing where that is not known. */
function changesText({ counts, members }: KeptVersion, words: Words): string {
  const keys = KINDS.flatMap((kind, index) => {
    const n = counts[index] ?? 0;
    return n > 0 ? [words(`versions.keys.${kind}`, { n })] : [];
  });
  const named = members.length > 0 ? [words('versions.members', { names: members.join(', ') })] : [];
  const changes = [...keys, ...named].join(', ');
  return changes && ` · ${words('versions.restoring', { changes })}`;
}

/** A version line by line beside what is there now, and the way to restore it. */
function VersionDialog({ open: { version, present, kept, credentials } }: { readonly open: OpenVersion }) {
  const words = useWords();
  const versions = versionsOf(useWorkspace());
  const restoring = useTask();
  const title = words('versions.restore');
  return (
    <Dialog title={title} kind="wide" onClose={versions.close}>
      <div class="dialog-body">
        <Failure of={restoring.error} urgent />
        {credentials !== 'none' && <Notice tone="warn">{words(`config.credentials.${credentials}`)}</Notice>}
        <p>
          <Age time={version.keptAt} />
          {changesText(version, words)}
        </p>
        {present !== kept && <Difference before={present} after={kept} label={title} />}
      </div>
      <DialogFoot
        onClose={versions.close}
        aria-disabled={restoring.busy}
        onClick={() => restoring.run(versions.restore)}
      >
        {title}
      </DialogFoot>
    </Dialog>
  );
}
