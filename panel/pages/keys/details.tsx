import { useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { clockTime, sentence, useWords } from '../../i18n/text.js';
import { tellsOnline, titleOf, usedBytes } from '../../state/key-list.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { visible } from '../../text/visible.js';
import { Button } from '../../ui/button.js';
import { TrafficChart } from '../../ui/chart.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog } from '../../ui/dialog.js';
import { Notice } from '../../ui/notice.js';
import { Fact } from '../../ui/page.js';
import { Size } from '../../ui/size.js';
import { DeleteDialog, ResetDialog } from './batch-dialogs.js';
import { EditDialog } from './edit-dialog.js';
import { raised } from './limit-field.js';
import { Status, Usage } from './row.js';
import { changeKey } from './save-key.js';
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
  const [doing, setDoing] = useState<'edit' | 'reset' | 'delete' | null>(null);
  const shown = user ?? last;
  if (shown === undefined) return <Gone onClose={onClose} />;
  const name = titleOf(shown).slice(0, 120);
  const named = { key: accessKey, name: shown.name ?? '' };
  const dialog = { keys: [named], unseen: NONE, onClose: () => setDoing(null) };
  return (
    <Dialog title={name} kind="side" onClose={onClose}>
      <div class="dialog-body">
        {user === undefined && <Notice tone="warn">{words('keys.gone')}</Notice>}
        <Share of={named} />
        <div class="buttons">
          <Button icon="edit" onClick={() => setDoing('edit')}>
            {words('key.edit')}
          </Button>
          <Button icon="reset" onClick={() => setDoing('reset')}>
            {words('key.reset')}
          </Button>
          <Button kind="quiet-danger" icon="trash" onClick={() => setDoing('delete')}>
            {words('key.delete')}
          </Button>
        </div>
        <Facts user={shown} />
        <div class="copy-line">
          <code class="wrap">{visible(accessKey)}</code>
          <CopyButton text={accessKey} label={`${words('action.copy')}: ${words('keys.key')}`} />
        </div>
        <h3>{words('key.traffic')}</h3>
        <KeyTraffic accessKey={accessKey} />
        <ClientConfiguration accessKey={accessKey} />
      </div>
      {doing === 'edit' && <EditDialog user={shown} onClose={() => setDoing(null)} />}
      {doing === 'reset' && <ResetDialog {...dialog} onDone={() => setDoing(null)} />}
      {doing === 'delete' && <DeleteDialog {...dialog} onDone={onClose} />}
    </Dialog>
  );
}

const NONE: ReadonlySet<string> = new Set();

function Gone({ onClose }: { readonly onClose: () => void }) {
  const words = useWords();
  return (
    <Dialog title={words('page.keys')} kind="side" onClose={onClose}>
      <div class="dialog-body">
        <Notice tone="warn">{words('keys.gone')}</Notice>
      </div>
    </Dialog>
  );
}

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
        <Fact label={words('keys.down')}>
          <Size bytes={user.bytes_down} />
        </Fact>
        <Fact label={words('keys.up')}>
          <Size bytes={user.bytes_up} />
        </Fact>
        <Fact label={words('key.total')}>
          <Size bytes={usedBytes(user)} />
        </Fact>
        <Fact label={words('keys.limit')}>
          {user.limit_bytes === null ? words('keys.unlimited') : <Size bytes={user.limit_bytes} />}{' '}
          <MoreButton user={user} />
          <Usage user={user} />
        </Fact>
        <Fact label={words('key.lastSeen')} missing={!tellsSeen}>
          {words(tellsSeen ? 'key.notRecorded' : 'absent.short')}
        </Fact>
      </dl>
      {untold.length > 0 && <p class="hint">{untold.join(' ')}</p>}
    </>
  );
}

/** Raises the limit at once. */
function MoreButton({ user }: { readonly user: User }) {
  const words = useWords();
  const workspace = useWorkspace();
  const [busy, setBusy] = useState(false);
  if (user.limit_bytes === null) return null;
  const raise = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await changeKey(workspace, user, { limit: raised(user.limit_bytes) });
      await workspace.contact.now();
    } catch (problem) {
      say({ tone: 'bad', text: sentence(problem, words) });
    }
    setBusy(false);
  };
  return (
    <Button kind="small" aria-disabled={busy} onClick={raise}>
      {words('edit.more')}
    </Button>
  );
}

function KeyTraffic({ accessKey }: { readonly accessKey: string }) {
  const words = useWords();
  const { users } = useWorkspace();
  useStore(users.state, ({ loadedAt }) => loadedAt);
  const points = users.history.of(accessKey);
  const since = users.history.since;
  if (points.length === 0) return <p class="hint">{words('key.noTraffic')}</p>;
  return (
    <>
      <TrafficChart points={points} label={words('key.traffic')} height={150} />
      {since !== null && <p class="hint">{words('key.trafficSince', { time: clockTime(since, words.language) })}</p>}
    </>
  );
}
