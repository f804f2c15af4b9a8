import { useState } from 'preact/hooks';
import { listTokens, type NamedToken, removeToken } from '../../api/named-tokens.js';
import { useWords } from '../../i18n/text.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { lastUseOf } from '../../state/revision-use.js';
import { useRefreshed, useTask } from '../../state/tasks.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { createStore, type Store, useStore } from '../../store/store.js';
import { visible } from '../../text/visible.js';
import { Age } from '../../ui/age.js';
import { Button } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Empty, Failure, Listed } from '../../ui/notice.js';
import { Fact } from '../../ui/page.js';
import type { KnownUsage } from './usage.js';

/** The named tokens as last seen; null until they have come. */
export const tokensOf = perWorkspace<Store<readonly NamedToken[] | null>>(() => createStore(null));

/** Every token with what it may do, until when, and when it was last used. */
export function TokenList({ usage, onAdd }: { readonly usage: KnownUsage; readonly onAdd: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const store = tokensOf(workspace);
  const tokens = useStore(store);
  const [leaving, setLeaving] = useState<NamedToken | null>(null);
  const error = useRefreshed(async () => store.set(await listTokens(workspace.own)));
  return (
    <>
      <Listed
        items={tokens}
        error={error}
        empty={
          <Empty icon="tokens" title={words('tokens.none')} text={words('tokens.noneText')}>
            <Button kind="primary" onClick={onAdd}>
              {words('tokens.first')}
            </Button>
          </Empty>
        }
      >
        {(all) => (
          <ul class="card card-flush entries" aria-label={words('page.tokens')}>
            {all.map((token) => (
              <TokenRow key={token.name} token={token} usage={usage} onRemove={() => setLeaving(token)} />
            ))}
          </ul>
        )}
      </Listed>
      <p class="hint">{words('tokens.note')}</p>
      {leaving !== null && <RemoveDialog token={leaving} onClose={() => setLeaving(null)} />}
    </>
  );
}

interface TokenRowProps {
  readonly token: NamedToken;
  readonly usage: KnownUsage;
  readonly onRemove: () => void;
}

function TokenRow({ token, usage, onRemove }: TokenRowProps) {
  const words = useWords();
  const { name, may, createdAt, expiresAt, madeBy, label } = token;
  const hasExpired = expiresAt !== null && expiresAt <= Date.now();
  return (
    <li class="token">
      <div class="line">
        <strong class="mono">{name}</strong>
        {label !== null && <span>{visible(label)}</span>}
        <span class="badge">{may}</span>
        {hasExpired && <span class="badge badge-warn">{words('tokens.expired')}</span>}
        <p class="hint">{words(`tokens.may.${may}`)}</p>
      </div>
      <dl class="facts">
        <Fact label={words('tokens.made')} title={words('tokens.madeBy', { name: madeBy })}>
          <Age time={createdAt} />
        </Fact>
        <Fact label={words('tokens.expires')}>
          {expiresAt === null ? words('tokens.never') : <Age time={expiresAt} />}
        </Fact>
        <Fact label={words('tokens.used')}>
          <LastUsed token={token} usage={usage} />
        </Fact>
      </dl>
      <Button kind="quiet-danger" aria-label={words('tokens.removeOne', { name })} onClick={onRemove}>
        {words('action.remove')}
      </Button>
    </li>
  );
}

/** The milliseconds for which the server counts who called. */
const COUNTED = 90 * 86_400_000;

function LastUsed({ token, usage: { rows, error } }: Pick<TokenRowProps, 'token' | 'usage'>) {
  const words = useWords();
  if (rows === null && error === null) return <>…</>;
  const last = rows === null ? undefined : lastUseOf(rows, token.name);
  if (last === undefined) return <>{words('tokens.usedUnknown')}</>;
  if (last === null) return <>{words(token.createdAt > Date.now() - COUNTED ? 'tokens.never' : 'tokens.unused')}</>;
  return <Age time={last} />;
}

function RemoveDialog({ token: { name }, onClose }: { readonly token: NamedToken; readonly onClose: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const { busy, error, run } = useTask();
  const remove = () =>
    run(async () => {
      await removeToken(workspace.own, name);
      const store = tokensOf(workspace);
      store.set(store.get()?.filter((token) => token.name !== name) ?? null);
      say('good', (words) => words('tokens.removed', { name }));
      onClose();
    });
  return (
    <FormDialog title={words('tokens.removeTitle', { name })} onSubmit={remove} onClose={onClose}>
      <p>{words('tokens.removeText')}</p>
      <Failure of={error} urgent />
      <DialogFoot onClose={onClose} isSafe kind="danger" aria-disabled={busy}>
        {words('action.remove')}
      </DialogFoot>
    </FormDialog>
  );
}
