import { Fragment } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Place } from './api/places.js';
import { useWords } from './i18n/text.js';
import { AuditPage } from './pages/audit-page.js';
import { ConfigurationPage } from './pages/configuration/configuration-page.js';
import { DnsPage } from './pages/dns/dns-page.js';
import { sheet } from './pages/keys/handout.js';
import { KeysPage } from './pages/keys/keys-page.js';
import { QrSheet } from './pages/keys/sheet.js';
import { Login } from './pages/login.js';
import { OverviewPage } from './pages/overview.js';
import { RulesPage } from './pages/rules/rules-page.js';
import { keptInTab } from './state/kept.js';
import { type Page, route } from './state/route.js';
import { useStore } from './state/store.js';
import { createWorkspace, WorkspaceContext } from './state/workspace.js';
import { ContactBar, Navigation } from './ui/frame.js';
import { Toasts } from './ui/toasts.js';

const VIEWS: Readonly<Record<Page, () => preact.JSX.Element>> = {
  overview: OverviewPage,
  keys: KeysPage,
  configuration: ConfigurationPage,
  rules: RulesPage,
  dns: DnsPage,
  audit: AuditPage,
};

interface AppProps {
  readonly places: readonly Place[];
  /** Where this tab remembers which server it points at; each mount has its own. */
  readonly memory: string;
}

/** The whole page: one workspace for the server that it points at. */
export function App({ places, memory }: AppProps) {
  const [place, setPlace] = useState(() => places.find(({ root }) => root === keptInTab.read(memory)) ?? places[0]);
  if (place === undefined) return null;
  const choose = (next: Place) => {
    keptInTab.write(memory, next.root);
    setPlace(next);
  };
  return (
    <Fragment key={place.root}>
      <Workplace place={place} places={places} onPlace={choose} />
      <Toasts />
    </Fragment>
  );
}

interface WorkplaceProps {
  readonly place: Place;
  readonly places: readonly Place[];
  readonly onPlace: (place: Place) => void;
}

function Workplace({ place, places, onPlace }: WorkplaceProps) {
  const workspace = useMemo(() => createWorkspace(place), [place]);
  useEffect(() => {
    void workspace.start();
    return workspace.stop;
  }, [workspace]);
  const session = useStore(workspace.session.state);
  const [entered, setEntered] = useState(false);
  if (session.phase === 'signedIn' && !entered) setEntered(true);
  if (session.phase === 'signedOut' && entered) setEntered(false);
  return (
    <WorkspaceContext.Provider value={workspace}>
      {session.phase !== 'signedIn' && <Login session={session} places={places} onPlace={onPlace} />}
      {entered && <Desk hidden={session.phase !== 'signedIn'} />}
    </WorkspaceContext.Provider>
  );
}

/** The pages. After a lost session they stay as they are behind the login, so that nothing typed is lost. */
function Desk({ hidden }: { readonly hidden: boolean }) {
  const words = useWords();
  const { page } = useStore(route);
  const printing = useStore(sheet);
  const View = VIEWS[page];
  useEffect(() => {
    document.title = `${words(`page.${page}`)} · Keyway`;
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
      </main>
      {printing !== null && <QrSheet keys={printing} />}
    </div>
  );
}
