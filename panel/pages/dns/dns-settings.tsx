import { useState } from 'preact/hooks';
import type { DnsSettings } from '../../api/wire.js';
import { sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { createDrafts, type Draft } from '../../state/drafts.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import type { Store } from '../../store/store.js';
import { Notice } from '../../ui/notice.js';
import { DnsFields } from './dns-fields.js';

/** The settings under edit. */
export const dnsDraftOf = createDrafts<DnsSettings>();

interface FormProps {
  readonly draft: Draft<DnsSettings>;
  readonly store: Store<Draft<DnsSettings> | null>;
  /** Whether the server's settings changed since the edit began. */
  readonly meanwhile: boolean;
}

/** The settings as the server's own operations take them. */
export function DnsSettingsForm({ draft, store, meanwhile }: FormProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const [valid, setValid] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const { now, base } = draft;
  const dirty = now !== base;
  const save = async (event: Event) => {
    event.preventDefault();
    if (!valid) return;
    setError(null);
    try {
      await workspace.server.replaceDns(now);
      note(workspace, 'saveDns', true);
      const saved = await workspace.server.dns();
      store.set({ base: saved, now: saved });
      say({ tone: 'good', text: words('dns.saved') });
    } catch (problem) {
      note(workspace, 'saveDns', false);
      setError(problem);
    }
  };
  /** Other settings than before, though equal: the fields begin anew. */
  const discard = () => {
    const fresh = { ...base };
    store.set({ base: fresh, now: fresh });
  };
  return (
    <form class="card" onSubmit={save}>
      <h2>{words('dns.settings')}</h2>
      {error !== null && (
        <Notice tone="bad" urgent>
          {sentence(error, words)}
        </Notice>
      )}
      {meanwhile && dirty && <Notice tone="warn">{words('dns.meanwhile')}</Notice>}
      <DnsFields
        base={base}
        now={now}
        ofFile={false}
        onChange={(members) => store.set({ base, now: { ...now, ...members } })}
        onValid={setValid}
      />
      <footer class="card-foot">
        {dirty && (
          <button type="button" class="button" onClick={discard}>
            {words('action.discard')}
          </button>
        )}
        <button type="submit" class="button button-primary" disabled={!dirty || !valid}>
          {words('dns.save')}
        </button>
      </footer>
    </form>
  );
}
