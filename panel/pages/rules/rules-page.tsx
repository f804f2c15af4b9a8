import { useEffect, useState } from 'preact/hooks';
import { ApiFailure } from '../../api/failure.js';
import type { OutboundRule } from '../../api/wire.js';
import { sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { createDrafts } from '../../state/drafts.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { encodeExact } from '../../text/exact-json.js';
import { Absent } from '../../ui/absent.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';
import { RulesInFile } from '../file/rules-in-file.js';
import { RulesForm } from './rules-form.js';

type Rules = readonly OutboundRule[];

const draftOf = createDrafts<Rules>();

export function RulesPage() {
  const words = useWords();
  const { rules, config } = useStore(useWorkspace().offers);
  if (rules === false && config === true) return <RulesInFile />;
  if (rules === false) return <Absent feature="rules" icon="rules" title={words('page.rules')} />;
  return <RulesEditor />;
}

function same(a: Rules, b: Rules): boolean {
  return encodeExact(a) === encodeExact(b);
}

function RulesEditor() {
  const words = useWords();
  const workspace = useWorkspace();
  const { server, contact } = workspace;
  const store = draftOf(workspace);
  const draft = useStore(store);
  const [error, setError] = useState<unknown>(null);
  const [meanwhile, setMeanwhile] = useState(false);
  const [adding, setAdding] = useState(false);
  const [busy, setBusy] = useState(false);

  useEffect(
    () =>
      contact.add(async () => {
        try {
          take(await server.rules());
          setError((last: unknown) => (last instanceof ApiFailure && last.kind === 'refused' ? last : null));
        } catch (problem) {
          setError(problem);
          throw problem;
        }
      }),
    [contact, server],
  );

  /** What the server has now: shown at once where nothing is being edited, else only compared. */
  function take(rules: Rules): void {
    const known = store.get();
    if (known === null || (same(known.base, known.now) && !same(known.base, rules)))
      store.set({ base: rules, now: rules });
    else setMeanwhile(!same(known.base, rules));
  }

  if (draft === null) {
    return (
      <div class="page">
        <h1>{words('page.rules')}</h1>
        {error !== null ? (
          <Notice tone="bad">{sentence(error, words)}</Notice>
        ) : (
          <p class="hint loading">{words('login.checking')}</p>
        )}
      </div>
    );
  }
  const rules = draft.now;
  const dirty = !same(draft.base, rules);
  const hasProtocol = rules.length === 0 || rules.some((rule) => 'protocol' in rule);
  const discard = async () => {
    store.set(null);
    setMeanwhile(false);
    setError(null);
    await contact.now();
  };
  const save = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await server.replaceRules(rules);
      note(workspace, 'saveRules', true, { n: rules.length });
      store.set({ base: rules, now: rules });
      setMeanwhile(false);
      say({ tone: 'good', text: words('rules.saved') });
    } catch (problem) {
      note(workspace, 'saveRules', false, { n: rules.length });
      setError(problem);
    } finally {
      setBusy(false);
    }
  };

  return (
    <div class="page">
      <div class="toolbar-line">
        <h1>{words('page.rules')}</h1>
        {dirty && <span class="badge badge-warn">{words('config.unsaved')}</span>}
        <span class="grow" />
        {dirty && (
          <button type="button" class="button" onClick={discard}>
            {words('action.discard')}
          </button>
        )}
        <button type="button" class="button" onClick={() => setAdding(true)}>
          <Icon name="plus" /> {words('rules.add')}
        </button>
        <button type="button" class="button button-primary" disabled={!dirty} aria-disabled={busy} onClick={save}>
          {words('rules.save')}
        </button>
      </div>
      {error !== null && (
        <Notice tone="bad" urgent>
          {isNotConfigured(error) ? words('rules.notConfigured') : sentence(error, words)}
        </Notice>
      )}
      {meanwhile && dirty && <Notice tone="warn">{words('rules.meanwhile')}</Notice>}
      <RulesForm
        rules={rules}
        onChange={(now) => store.set({ base: draft.base, now })}
        hasProtocol={hasProtocol}
        adding={adding}
        onAdded={() => setAdding(false)}
      />
    </div>
  );
}

function isNotConfigured(error: unknown): boolean {
  return error instanceof ApiFailure && error.detail === 'Outbound routing is not enabled in config';
}
