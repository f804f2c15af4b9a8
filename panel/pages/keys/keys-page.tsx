import { useMemo, useRef, useState } from 'preact/hooks';
import type { User } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { batchesOf } from '../../state/batches.js';
import { clientLink } from '../../state/client-links.js';
import { EVERYTHING, keysViewOf } from '../../state/keys-view.js';
import { namedKeys } from '../../state/named-keys.js';
import { goTo, route } from '../../state/route.js';
import { chosenKeys, countSelection, selectedWith, unseenOf } from '../../state/selection.js';
import { say, sayFailure } from '../../state/toasts.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button } from '../../ui/button.js';
import { copy } from '../../ui/copy.js';
import { Empty, Failure, Loading } from '../../ui/notice.js';
import { useArrangement } from './arrangement.js';
import { DeleteDialog, ResetDialog } from './batch-dialogs.js';
import { BulkDialog } from './bulk-dialog.js';
import { handOut } from './client-address.js';
import { Details } from './details.js';
import { EditDialog } from './edit-dialog.js';
import { ImportDialog } from './import-dialog.js';
import { LimitDialog } from './limit-dialog.js';
import { KeyTable } from './table.js';
import { type Doing, SelectionBar, Toolbar } from './toolbar.js';

const NONE: readonly User[] = [];

/** Returns true where rows that move would be in somebody's way. */
function isInUse(grid: HTMLElement | null, selected: ReadonlySet<string>): boolean {
  return grid !== null && (grid.scrollTop > 0 || grid.matches(':hover, :focus-within') || selected.size > 0);
}

/** Copies the link of a key, and says so. */
async function copyLink(workspace: Workspace, key: string): Promise<void> {
  try {
    await handOut(async () => {
      const { text, unreachable } = await clientLink(workspace, key);
      const copied = await copy(text);
      if (unreachable !== null) say('bad', (words) => words('address.named', { host: unreachable }));
      say(copied ? 'good' : 'bad', (words) => words(copied ? 'key.linkCopied' : 'action.copyFailed'));
    });
  } catch (problem) {
    sayFailure(problem);
  }
}

/** The list of keys and everything that is done with them. */
export function KeysPage() {
  const words = useWords();
  const workspace = useWorkspace();
  const { users } = workspace;
  const { users: list, byKey, error } = useStore(users.state);
  const openKey = useStore(route, ({ key }) => key);
  const leaving = useStore(batchesOf(workspace).leaving);
  const view = keysViewOf(workspace);
  const seen = useStore(view);
  const { sorting, selected } = seen;
  const [doing, setDoing] = useState<Doing | null>(null);
  const [target, setTarget] = useState<string | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const edited = editing === null ? undefined : byKey.get(editing);
  const grid = useRef<HTMLDivElement>(null);
  const { rows, isPending, stale } = useArrangement(list ?? NONE, byKey, seen, () => isInUse(grid.current, selected));
  const counts = useMemo(() => countSelection(selected, rows, byKey, leaving), [selected, rows, byKey, leaving]);
  const chosen = () => chosenKeys(selected, byKey, leaving);

  const select = (keys: readonly string[], on: boolean) => view.patch({ selected: selectedWith(selected, keys, on) });
  const unselect = () => view.patch({ selected: new Set() });
  const close = () => {
    setDoing(null);
    setTarget(null);
  };
  const subject = useMemo(() => {
    if (doing === null) return { keys: [], unseen: new Set<string>() };
    const keys = target === null ? chosen() : [target];
    return { keys: namedKeys(keys, byKey), unseen: unseenOf(keys, rows) };
  }, [doing, target, selected, rows, byKey, leaving]);
  const dialog = { ...subject, onClose: close, onDone: close };

  return (
    <div class="page page-keys">
      <Toolbar
        view={view}
        users={list}
        rows={rows}
        ticked={counts.ticked}
        stale={stale}
        onSelect={select}
        onDo={setDoing}
      />
      {list === null && error !== null && <Failure of={error} />}
      {(list === null ? error === null : isPending && rows.length === 0) && <Loading text={words('keys.loading')} />}
      {list !== null && rows.length === 0 && !isPending && (
        <NoRows
          isEmpty={list.length === 0}
          onCreate={() => setDoing('create')}
          onShowAll={() => view.patch({ query: EVERYTHING, filter: 'all' })}
        />
      )}
      {rows.length > 0 && (
        <KeyTable
          rows={rows}
          byKey={byKey}
          ticked={counts.ticked}
          sorting={sorting}
          onSort={(next) => view.patch({ sorting: next })}
          selected={selected}
          onSelect={select}
          leaving={leaving}
          onOpen={(key) => goTo('keys', key)}
          onEdit={setEditing}
          onCopy={(key) => copyLink(workspace, key)}
          onDelete={(key) => {
            setTarget(key);
            setDoing('delete');
          }}
          grid={grid}
        />
      )}
      {list !== null && list.length > 0 && (
        <SelectionBar
          counts={counts}
          chosen={() => namedKeys(chosen(), byKey)}
          onDo={setDoing}
          onClear={unselect}
          onShow={() => view.patch({ query: { kind: 'lines', lines: chosen() }, filter: 'all' })}
        />
      )}
      {openKey !== null && list !== null && <Details key={openKey} accessKey={openKey} onClose={() => goTo('keys')} />}
      {doing === 'create' && <EditDialog user={null} onClose={close} />}
      {edited !== undefined && (
        // A save that ends later leaves another key open that is edited by then.
        <EditDialog user={edited} onClose={() => setEditing((now) => (now === edited.access_key ? null : now))} />
      )}
      {doing === 'bulk' && <BulkDialog onClose={close} />}
      {doing === 'import' && <ImportDialog onClose={close} />}
      {doing === 'delete' && <DeleteDialog {...dialog} />}
      {doing === 'limit' && <LimitDialog {...dialog} />}
      {doing === 'reset' && <ResetDialog {...dialog} />}
    </div>
  );
}

interface NoRowsProps {
  /** There are no keys at all. */
  readonly isEmpty: boolean;
  readonly onCreate: () => void;
  readonly onShowAll: () => void;
}

function NoRows({ isEmpty, onCreate, onShowAll }: NoRowsProps) {
  const words = useWords();
  return isEmpty ? (
    <Empty icon="keys" title={words('keys.none')} text={words('keys.noneText')}>
      <Button kind="primary" icon="plus" onClick={onCreate}>
        {words('overview.first')}
      </Button>
    </Empty>
  ) : (
    <Empty icon="search" title={words('keys.noMatch')} text={words('keys.noMatchText')}>
      <Button onClick={onShowAll}>{words('keys.showAll')}</Button>
    </Empty>
  );
}
