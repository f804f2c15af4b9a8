import { useState } from 'preact/hooks';
import { ApiFailure } from '../../api/failure.js';
import { useWords } from '../../i18n/text.js';
import { useServerDraft } from '../../state/drafts.js';
import { rulesDraftsOf } from '../../state/server-drafts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button } from '../../ui/button.js';
import { Notice } from '../../ui/notice.js';
import { Absent } from '../../ui/page.js';
import { RulesInFile } from '../file/rules-in-file.js';
import { SettingsPage } from '../settings-page.js';
import { RulesForm } from './rules-form.js';

export function RulesPage() {
  const { rules, config } = useStore(useWorkspace().offers);
  if (rules === false && config === true) return <RulesInFile />;
  return rules === false ? <Absent page="rules" /> : <RulesEditor />;
}

function RulesEditor() {
  const words = useWords();
  const [adding, setAdding] = useState(false);
  const edit = useServerDraft(rulesDraftsOf);
  const add = (
    <Button icon="plus" onClick={() => setAdding(true)}>
      {words('rules.add')}
    </Button>
  );
  return (
    <SettingsPage
      title={words('page.rules')}
      edit={edit}
      save={words('rules.save')}
      tools={edit.draft !== null && add}
      failure={
        isNotConfigured(edit.saveError ?? edit.loadError) && (
          <Notice tone="bad" urgent>
            {words('rules.notConfigured')}
          </Notice>
        )
      }
    >
      {({ now }) => (
        <RulesForm
          rules={now}
          onChange={edit.change}
          hasProtocol={now.length === 0 || now.some((rule) => 'protocol' in rule)}
          adding={adding}
          onAdding={setAdding}
        />
      )}
    </SettingsPage>
  );
}

function isNotConfigured(error: unknown): boolean {
  return error instanceof ApiFailure && error.detail === 'Outbound routing is not enabled in config';
}
