import { reachesKeys } from '../../api/own-interface.js';
import { useWords } from '../../i18n/text.js';
import { goTo, route } from '../../state/route.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Segments } from '../../ui/button.js';
import { AuditList } from './audit-list.js';
import { Events } from './events.js';

const TABS = ['audit', 'events'] as const;

/** The audit list, and where Keyway's own interface is what happened there. */
export function AuditPage() {
  const words = useWords();
  const hasEvents = useStore(useWorkspace().reach, reachesKeys);
  const tab = useStore(route, ({ key }) => TABS.find((name) => name === key) ?? 'audit');
  const tabs = hasEvents && (
    <Segments
      class="tabs"
      label={words('action.show')}
      names={TABS}
      chosen={tab}
      onChoose={(name) => goTo('audit', name)}
    >
      {(name) => words(name === 'audit' ? 'page.audit' : 'events.title')}
    </Segments>
  );
  return tab === 'events' && hasEvents ? <Events tabs={tabs} /> : <AuditList tabs={tabs} />;
}
