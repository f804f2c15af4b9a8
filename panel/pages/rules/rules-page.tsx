import { useState } from 'preact/hooks';
import { ApiFailure } from '../../api/failure.js';
import { type OutboundRule, readRules } from '../../api/wire.js';
import { sentence, useWords } from '../../i18n/text.js';
import { createDrafts, useServerDraft } from '../../state/drafts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { encodeExact } from '../../text/exact-json.js';
import { Button } from '../../ui/button.js';
import { ConflictChoices } from '../../ui/conflicts.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { Absent, Page, Unsaved } from '../../ui/page.js';
import { RulesInFile } from '../file/rules-in-file.js';
import { RulesForm } from './rules-form.js';

const draftOf = createDrafts<readonly OutboundRule[]>();

export function RulesPage() {
  const { rules, config } = useStore(useWorkspace().offers);
  if (rules === false && config === true) return <RulesInFile />;
  return rules === false ? <Absent page="rules" /> : <RulesEditor />;
}

function RulesEditor() {
  const words = useWords();
  const [adding, setAdding] = useState(false);
  const { draft, dirty, busy, loadError, saveError, ...edit } = useServerDraft({
    draftOf,
    read: (server) => server.rules(),
    parse: readRules,
    name: 'rules',
    write: (server, rules, _, tag) => server.replaceRules(rules, tag),
    isSame: (a, b) => encodeExact(a) === encodeExact(b),
    event: 'saveRules',
    count: (rules) => rules.length,
    saved: (words) => words('rules.saved'),
  });
  if (draft === null) {
    return <Page title={words('page.rules')}>{loadError === null ? <Loading /> : <Failure of={loadError} />}</Page>;
  }
  const error = saveError ?? loadError;
  const tools = (
    <>
      {dirty && <Unsaved />}
      <span class="grow" />
      {dirty && <Button onClick={edit.discard}>{words('action.discard')}</Button>}
      <Button icon="plus" onClick={() => setAdding(true)}>
        {words('rules.add')}
      </Button>
      <Button
        kind="primary"
        off={!dirty ? words('off.unchanged') : edit.undecided && words('off.choose')}
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
      {edit.meanwhile && dirty && (
        <Notice tone="plain">
          {words('rules.meanwhile')} {words('config.meanwhileStays')}
        </Notice>
      )}
      <ConflictChoices conflicts={edit.conflicts} choices={edit.choices} onChoose={edit.choose} />
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
