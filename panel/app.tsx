import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Place } from './api/places.js';
import { useWords } from './i18n/text.js';
import { AuditPage } from './pages/audit/audit-page.js';
import { BatchBar } from './pages/batch-bar.js';
import { ConfigurationPage } from './pages/configuration/configuration-page.js';
import { DnsPage } from './pages/dns/dns-page.js';
import { AddressDialog } from './pages/keys/client-address.js';
import { QrSheet, sheet } from './pages/keys/handout.js';
import { KeysPage } from './pages/keys/keys-page.js';
import { Login } from './pages/login.js';
import { OverviewPage } from './pages/overview.js';
import { RulesPage } from './pages/rules/rules-page.js';
import { TokensPage } from './pages/tokens/tokens-page.js';
import { batchesOf } from './state/batches.js';
import { keysViewOf } from './state/keys-view.js';
import { type Page, route } from './state/route.js';
import { createWorkspace, PlacesContext, type Workspace, WorkspaceContext } from './state/workspace.js';
import { keptInTab } from './store/kept.js';
import { useStore } from './store/store.js';
import { browserTab } from './store/tab.js';
import { ContactBar, Navigation } from './ui/frame.js';
import { UnknownPage } from './ui/page.js';
import { Shortcuts } from './ui/shortcuts.js';
import { Toasts } from './ui/toasts.js';

const VIEWS: Readonly<Record<Page, () => preact.JSX.Element>> = {
  overview: OverviewPage,
  keys: KeysPage,
  configuration: ConfigurationPage,
  rules: RulesPage,
  dns: DnsPage,
  audit: AuditPage,
  tokens: TokensPage,
};

interface AppProps {
  readonly places: readonly Place[];
  /** The name under which this tab remembers the server that it points at; each mount has its own. */
  readonly memory: string;
}

/** The whole page: one workspace for each server that it has pointed at, so that nothing typed is lost by a look at another. */
export function App({ places, memory }: AppProps) {
  const [current, setCurrent] = useState(() => places.find(({ root }) => root === keptInTab.read(memory)) ?? places[0]);
  const workspaces = useMemo(() => new Map<Place, Workspace>(), []);
  if (current === undefined) return null;
  const workspace = workspaces.get(current) ?? createWorkspace(current, browserTab);
  workspaces.set(current, workspace);
  const choose = (next: Place) => {
    keptInTab.write(memory, next.root);
    setCurrent(next);
  };
  return (
    <PlacesContext.Provider value={{ all: places, current, choose }}>
      <WorkspaceContext.Provider value={workspace}>
        <Workplace key={current.root} workspace={workspace} />
        <Toasts />
      </WorkspaceContext.Provider>
    </PlacesContext.Provider>
  );
}

function Workplace({ workspace }: { readonly workspace: Workspace }) {
  useEffect(() => {
    // Everything they have kept from before is to go at a sign-out, whatever page was seen until then.
    // The selection is kept last: where there is no room for all, batches count for more.
    batchesOf(workspace);
    keysViewOf(workspace);
    void workspace.start();
    return workspace.stop;
  }, [workspace]);
  const session = useStore(workspace.session.state);
  const [entered, setEntered] = useState(false);
  if (session.phase === 'signedIn' && !entered) setEntered(true);
  if (session.phase === 'signedOut' && entered) setEntered(false);
  return (
    <>
      {session.phase !== 'signedIn' && <Login session={session} />}
      {entered && <Desk hidden={session.phase !== 'signedIn'} />}
    </>
  );
}

/** The pages. After a lost session they stay as they are behind the login, so that nothing typed is lost. */
function Desk({ hidden }: { readonly hidden: boolean }) {
  const words = useWords();
  const { page, key } = useStore(route);
  const printing = useStore(sheet);
  const View = page === null ? UnknownPage : VIEWS[page];
  useEffect(() => {
    document.title = `${words(`page.${page ?? 'unknown'}`)} · Keyway`;
  }, [page, words]);
  return (
    <div class="desk" hidden={hidden}>
      <button type="button" class="skip button" onClick={() => document.getElementById('content')?.focus()}>
        {words('app.skip')}
      </button>
      <Navigation />
      <main id={hidden ? undefined : 'content'} class="content" tabIndex={-1}>
        <ContactBar />
        <View key={page} />
        {(page !== 'keys' || key === null) && <BatchBar />}
      </main>
      {printing !== null && <QrSheet keys={printing} />}
      <AddressDialog />
      {!hidden && <Shortcuts />}
    </div>
  );
}
