import { useState } from 'preact/hooks';
import { ownUnit, unitName } from '../../../src/text/sizes.js';
import { reachesKeys } from '../../api/own-interface.js';
import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { tellsOnline, titleOf, usedBytes } from '../../state/key-list.js';
import { lastUnitOf, raised } from '../../state/limits.js';
import { isAddressable } from '../../state/named-keys.js';
import { useTask } from '../../state/tasks.js';
import { sayFailure } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { visible } from '../../text/visible.js';
import { Button } from '../../ui/button.js';
import { TrafficChart } from '../../ui/chart.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog } from '../../ui/dialog.js';
import { Notice } from '../../ui/notice.js';
import { Fact } from '../../ui/page.js';
import { Seen } from '../../ui/seen.js';
import { LimitSize, Size } from '../../ui/size.js';
import { BatchBar } from '../batch-bar.js';
import { DeleteDialog, ResetDialog } from './batch-dialogs.js';
import { EditDialog } from './edit-dialog.js';
import { Status, Usage } from './quota.js';
import { RotateDialog } from './rotate-dialog.js';
import { saveKey } from './save-key.js';
import { ClientConfiguration, Share } from './share.js';

interface DetailsProps {
  readonly accessKey: string;
  readonly onClose: () => void;
}

/** One key: what it moved, its limit, its link, and what can be done with it. */
export function Details({ accessKey, onClose }: DetailsProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const user = useStore(workspace.users.state, ({ byKey }) => byKey.get(accessKey));
  const [last, setLast] = useState(user);
  if (user !== undefined && user !== last) setLast(user);
  const [doing, setDoing] = useState<'edit' | 'reset' | 'rotate' | 'delete' | null>(null);
  const canRotate = useStore(workspace.reach, reachesKeys);
  const shown = user ?? last;
  const gone = <Notice tone="warn">{words('keys.gone')}</Notice>;
  if (shown === undefined) {
    return (
      <Dialog title={words('page.keys')} kind="side" onClose={onClose}>
        <div class="dialog-body">{gone}</div>
      </Dialog>
    );
  }
  const name = titleOf(shown).slice(0, 120);
  const named = { key: accessKey, name: shown.name ?? '' };
  const dialog = { keys: [named], unseen: NONE, onClose: () => setDoing(null) };
  return (
    <Dialog title={name} kind="side" onClose={onClose}>
      <div class="dialog-body">
        <BatchBar />
        {user === undefined && gone}
        <Share of={named} />
        <section class="sheet-part">
          <header class="line">
            <h3>{words('key.facts')}</h3>
            <Button kind="small" icon="edit" onClick={() => setDoing('edit')}>
              {words('key.edit')}
            </Button>
          </header>
          <Facts user={shown} />
          {shown.note && <p class="notice notice-plain no-print">{`${words('keys.note')}: ${visible(shown.note)}`}</p>}
          <div class="line copy-line">
            <code class="wrap">{visible(accessKey)}</code>
            <CopyButton text={accessKey} label={`${words('action.copy')}: ${words('keys.key')}`} />
          </div>
        </section>
        <section class="sheet-part">
          <h3>{words('key.traffic')}</h3>
          <KeyTraffic accessKey={accessKey} />
        </section>
        <ClientConfiguration accessKey={accessKey} />
      </div>
      <footer class="line dialog-foot">
        <Button icon="reset" shrinks onClick={() => setDoing('reset')}>
          {words('key.resetCounters')}
        </Button>
        {canRotate && isAddressable(accessKey) && (
          <Button kind="quiet-danger" icon="refresh" shrinks onClick={() => setDoing('rotate')}>
            {words('key.rotate')}
          </Button>
        )}
        <Button kind="quiet-danger" icon="trash" shrinks onClick={() => setDoing('delete')}>
          {words('key.delete')}
        </Button>
      </footer>
      {doing === 'edit' && <EditDialog user={shown} onClose={() => setDoing(null)} />}
      {doing === 'reset' && <ResetDialog {...dialog} onDone={() => setDoing(null)} />}
      {doing === 'rotate' && <RotateDialog of={named} onClose={() => setDoing(null)} />}
      {doing === 'delete' && <DeleteDialog {...dialog} onDone={onClose} />}
    </Dialog>
  );
}

const NONE: ReadonlySet<string> = new Set();

function Facts({ user }: { readonly user: User }) {
  const words = useWords();
  const tellsSeen = tellsOnline(user);
  const untold = [
    ...(user.name === undefined ? [words('absent.names')] : []),
    ...(tellsSeen ? [] : [words('absent.online'), words('absent.lastSeen')]),
  ];
  return (
    <>
      <dl class="facts">
        <Fact label={words('key.status')}>
          <Status user={user} />
        </Fact>
        <Fact label={words('keys.connectionsLong')}>{String(user.connections)}</Fact>
        <Fact label={words('side.down')}>
          <Size bytes={user.bytes_down} />
        </Fact>
        <Fact label={words('side.up')}>
          <Size bytes={user.bytes_up} />
        </Fact>
        <Fact label={words('key.total')}>
          <Size bytes={usedBytes(user)} />
        </Fact>
        <Fact label={words('keys.limit')}>
          <Limit user={user} />
        </Fact>
        <Fact label={words('key.lastSeen')} missing={!tellsSeen}>
          {words(tellsSeen ? 'key.notRecorded' : 'absent.short')}
        </Fact>
      </dl>
      {untold.length > 0 && <p class="hint">{untold.join(' ')}</p>}
    </>
  );
}

/** The limit, how much of it is used, and the way to more. */
function Limit({ user }: { readonly user: User }) {
  const words = useWords();
  if (user.limit_bytes === null) return <>{words('keys.unlimited')}</>;
  return (
    <span class="line nowrap fact-limit">
      <LimitSize bytes={user.limit_bytes} />
      <Usage user={user} />
      <MoreButton user={user} />
    </span>
  );
}

/** Raises the limit at once. */
function MoreButton({ user }: { readonly user: User }) {
  const words = useWords();
  const workspace = useWorkspace();
  const { busy, run } = useTask();
  const { limit_bytes: limit } = user;
  if (limit === null) return null;
  const unit = ownUnit(limit, lastUnitOf(workspace).get());
  const raise = () => run(() => saveKey(workspace, user, { limit: raised(limit, unit) }).catch(sayFailure));
  return (
    <Button kind="small" aria-disabled={busy} onClick={raise}>
      {words('edit.more', { unit: unitName(unit, words.language) })}
    </Button>
  );
}

function KeyTraffic({ accessKey }: { readonly accessKey: string }) {
  const words = useWords();
  const { users } = useWorkspace();
  useStore(users.state, ({ loadedAt }) => loadedAt);
  const points = users.history.of(accessKey);
  if (points.length === 0) return <p class="hint">{words('overview.noTraffic')}</p>;
  return (
    <>
      <TrafficChart points={points} label={words('key.traffic')} height={150} />
      <Seen points={points} />
    </>
  );
}
