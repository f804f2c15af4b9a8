import { reachesKeys } from '../../api/own-interface.js';
import { useWords } from '../../i18n/text.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Tabs, useTab } from '../../ui/tabs.js';
import { AuditList } from './audit-list.js';
import { Events } from './events.js';

const TABS = ['audit', 'events'] as const;

/** The audit list, and where Keyway's own interface is what happened there. */
export function AuditPage() {
  const words = useWords();
  const hasEvents = useStore(useWorkspace().reach, reachesKeys);
  const tab = useTab(TABS);
  const tabs = hasEvents && (
    <Tabs page="audit" names={TABS}>
      {(name) => words(name === 'audit' ? 'page.audit' : 'events.title')}
    </Tabs>
  );
  return tab === 'events' && hasEvents ? <Events tabs={tabs} /> : <AuditList tabs={tabs} />;
}
