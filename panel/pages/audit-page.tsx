import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry } from '../api/wire.js';
import { sentence, useWords } from '../i18n/text.js';
import { say } from '../state/toasts.js';
import { useWorkspace } from '../state/workspace.js';
import type { Language } from '../store/preferences.js';
import { useStore } from '../store/store.js';
import { Absent } from '../ui/absent.js';
import { Dialog } from '../ui/dialog.js';
import { Empty, Notice } from '../ui/notice.js';

export function AuditPage() {
  const words = useWords();
  const { offers } = useWorkspace();
  const has = useStore(offers, ({ audit }) => audit);
  if (has === false) return <Absent feature="audit" icon="audit" title={words('page.audit')} />;
  return <AuditList />;
}

/** In the viewer's language; other panels may have written one language alone. */
function eventText({ eventEn, eventRu }: AuditEntry, language: Language): string {
  return language === 'ru' ? eventRu || eventEn : eventEn || eventRu;
}

/** What was done, newest first. */
function AuditList() {
  const words = useWords();
  const { server, contact } = useWorkspace();
  const [entries, setEntries] = useState<readonly AuditEntry[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [asking, setAsking] = useState(false);
  useEffect(
    () =>
      contact.add(async () => {
        try {
          setEntries(await server.audit());
          setError(null);
        } catch (problem) {
          setError(problem);
          throw problem;
        }
      }),
    [contact, server],
  );
  const clear = async (event: Event) => {
    event.preventDefault();
    try {
      await server.clearAudit();
      setEntries([]);
      say({ tone: 'good', text: words('audit.cleared') });
    } catch (problem) {
      say({ tone: 'bad', text: sentence(problem, words) });
    }
    setAsking(false);
  };
  return (
    <div class="page">
      <div class="toolbar-line">
        <h1>{words('page.audit')}</h1>
        <span class="grow" />
        <button
          type="button"
          class="button"
          disabled={entries === null || entries.length === 0}
          onClick={() => setAsking(true)}
        >
          {words('audit.clear')}
        </button>
      </div>
      {error !== null && <Notice tone="bad">{sentence(error, words)}</Notice>}
      {entries === null && error === null && <p class="hint loading">{words('login.checking')}</p>}
      {entries !== null && entries.length === 0 && (
        <Empty icon="audit" title={words('audit.none')} text={words('audit.noneText')} />
      )}
      {entries !== null && entries.length > 0 && (
        <section class="card card-flush">
          <table class="events">
            <thead>
              <tr>
                <th scope="col">{words('audit.time')}</th>
                <th scope="col">{words('audit.event')}</th>
                <th scope="col">{words('audit.outcome')}</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <tr key={entry.id}>
                  <td class="mono">{entry.time}</td>
                  <td>{eventText(entry, words.language).slice(0, 500)}</td>
                  <td>
                    <span class={entry.success ? 'badge badge-good' : 'badge badge-block'}>
                      {words(entry.success ? 'audit.success' : 'audit.failure')}
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <p class="hint">{words('audit.note')}</p>
      {asking && (
        <Dialog title={words('audit.clearTitle')} onClose={() => setAsking(false)}>
          <form class="dialog-body" onSubmit={clear}>
            <p>{words('audit.clearText')}</p>
            <footer class="dialog-foot">
              <button type="button" class="button" data-autofocus="" onClick={() => setAsking(false)}>
                {words('action.cancel')}
              </button>
              <button type="submit" class="button button-danger">
                {words('audit.clear')}
              </button>
            </footer>
          </form>
        </Dialog>
      )}
    </div>
  );
}
