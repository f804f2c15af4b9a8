import { useState } from 'preact/hooks';
import { ApiFailure } from '../../api/failure.js';
import { sentence, useWords } from '../../i18n/text.js';
import { useServerDraft } from '../../state/drafts.js';
import { rulesDraftsOf } from '../../state/server-drafts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { printExact } from '../../text/exact-json.js';
import { Button } from '../../ui/button.js';
import { Meanwhile } from '../../ui/difference.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { Absent, Page, Unsaved } from '../../ui/page.js';
import { RulesInFile } from '../file/rules-in-file.js';
import { RulesForm } from './rules-form.js';

export function RulesPage() {
  const { rules, config } = useStore(useWorkspace().offers);
  if (rules === false && config === true) return <RulesInFile />;
  return rules === false ? <Absent page="rules" /> : <RulesEditor />;
}

function RulesEditor() {
  const words = useWords();
  const [adding, setAdding] = useState(false);
  const { draft, theirs, busy, loadError, saveError, ...edit } = useServerDraft(rulesDraftsOf);
  const isDirty = edit.isDirty();
  if (draft === null) {
    return <Page title={words('page.rules')}>{loadError === null ? <Loading /> : <Failure of={loadError} />}</Page>;
  }
  const error = saveError ?? loadError;
  const tools = (
    <>
      {isDirty && <Unsaved />}
      <span class="grow" />
      {isDirty && <Button onClick={edit.discard}>{words('action.discard')}</Button>}
      <Button icon="plus" onClick={() => setAdding(true)}>
        {words('rules.add')}
      </Button>
      <Button
        kind="primary"
        off={!isDirty ? words('off.unchanged') : theirs !== null && words('off.choose')}
        aria-disabled={busy}
        onClick={edit.save}
      >
        {words('rules.save')}
      </Button>
    </>
  );
  return (
    <Page title={words('page.rules')} tools={tools}>
      {error !== null && (
        <Notice tone="bad" urgent>
          {isNotConfigured(error) ? words('rules.notConfigured') : sentence(error, words)}
        </Notice>
      )}
      {theirs !== null && (
        <Meanwhile
          before={printExact(draft.base)}
          now={printExact(theirs)}
          isBusy={busy}
          onTheirs={edit.discard}
          onMine={edit.saveOver}
        >
          {words('meanwhile.changed')}
        </Meanwhile>
      )}
      <RulesForm
        rules={draft.now}
        onChange={edit.change}
        hasProtocol={draft.now.length === 0 || draft.now.some((rule) => 'protocol' in rule)}
        adding={adding}
        onAdding={setAdding}
      />
    </Page>
  );
}

function isNotConfigured(error: unknown): boolean {
  return error instanceof ApiFailure && error.detail === 'Outbound routing is not enabled in config';
}
