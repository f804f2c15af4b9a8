import { useEffect, useState } from 'preact/hooks';
import { listUsage } from '../../api/usage.js';
import { useWords } from '../../i18n/text.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button } from '../../ui/button.js';
import { Loading } from '../../ui/notice.js';
import { Absent, Page } from '../../ui/page.js';
import { Tabs, useTab } from '../../ui/tabs.js';
import { TokenDialog } from './token-dialog.js';
import { TokenList } from './token-list.js';
import { type KnownUsage, Usage } from './usage.js';

/** The named tokens, and who uses which revision: all of it is for those alone who may do everything. */
export function TokensPage() {
  const words = useWords();
  const reach = useStore(useWorkspace().reach);
  if (reach === 'all') return <Programs />;
  if (reach !== null) return <Absent page="tokens" />;
  return (
    <Page title={words('page.tokens')}>
      <Loading />
    </Page>
  );
}

const TABS = ['tokens', 'usage'] as const;

function Programs() {
  const words = useWords();
  const { own } = useWorkspace();
  const tab = useTab(TABS);
  const [adding, setAdding] = useState(false);
  const [usage, setUsage] = useState<KnownUsage>({ rows: null, error: null });
  // Asked once a visit: it is long, and hardly changes while one looks.
  useEffect(() => {
    listUsage(own).then(
      (rows) => setUsage({ rows, error: null }),
      (error: unknown) => setUsage({ rows: null, error }),
    );
  }, [own, tab]);
  const tools = (
    <>
      <Tabs page="tokens" names={TABS}>
        {(name) => words(name === 'tokens' ? 'page.tokens' : 'usage.title')}
      </Tabs>
      <span class="grow" />
      {tab === 'tokens' && (
        <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
          {words('tokens.new')}
        </Button>
      )}
    </>
  );
  return (
    <Page title={words('page.tokens')} tools={tools}>
      {tab === 'usage' ? <Usage usage={usage} /> : <TokenList usage={usage} onAdd={() => setAdding(true)} />}
      {adding && <TokenDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}
