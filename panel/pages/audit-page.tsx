import { useRef, useState } from 'preact/hooks';
import type { AuditEntry } from '../api/wire.js';
import { sentence, useWords } from '../i18n/text.js';
import { useRefreshed } from '../state/tasks.js';
import { say } from '../state/toasts.js';
import { useWorkspace } from '../state/workspace.js';
import type { Language } from '../store/preferences.js';
import { useStore } from '../store/store.js';
import { Button } from '../ui/button.js';
import { DialogFoot, FormDialog } from '../ui/dialog.js';
import { Empty, Failure, Loading } from '../ui/notice.js';
import { Absent, Page, Table } from '../ui/page.js';

export function AuditPage() {
  const has = useStore(useWorkspace().offers, ({ audit }) => audit);
  return has === false ? <Absent page="audit" /> : <AuditList />;
}

/** In the viewer's language; other panels may have written one language alone. */
function eventText({ eventEn, eventRu }: AuditEntry, language: Language): string {
  return language === 'ru' ? eventRu || eventEn : eventEn || eventRu;
}

/** The events, newest first. */
function AuditList() {
  const words = useWords();
  const { server } = useWorkspace();
  const [entries, setEntries] = useState<readonly AuditEntry[] | null>(null);
  const [asking, setAsking] = useState(false);
  const clearings = useRef(0);
  const error = useRefreshed(async () => {
    const asked = clearings.current;
    const fresh = await server.audit();
    // Cleared since it was asked: the answer may be older than that.
    if (clearings.current === asked) setEntries(fresh);
  });
  const clear = async () => {
    try {
      await server.clearAudit();
      clearings.current += 1;
      setEntries([]);
      say({ tone: 'good', text: words('audit.cleared') });
    } catch (problem) {
      say({ tone: 'bad', text: sentence(problem, words) });
    }
    setAsking(false);
  };
  const tools = (
    <>
      <span class="grow" />
      <Button disabled={entries === null || entries.length === 0} onClick={() => setAsking(true)}>
        {words('audit.clear')}
      </Button>
    </>
  );
  return (
    <Page title={words('page.audit')} tools={tools}>
      <Failure of={error} />
      {entries === null && error === null && <Loading />}
      {entries?.length === 0 && <Empty icon="audit" title={words('audit.none')} text={words('audit.noneText')} />}
      {entries !== null && entries.length > 0 && (
        <section class="card card-flush">
          <Table heads={[words('audit.time'), words('audit.event'), words('audit.outcome')]}>
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
          </Table>
        </section>
      )}
      <p class="hint">{words('audit.note')}</p>
      {asking && (
        <FormDialog title={words('audit.clearTitle')} onSubmit={clear} onClose={() => setAsking(false)}>
          <p>{words('audit.clearText')}</p>
          <DialogFoot onClose={() => setAsking(false)} isSafe>
            <Button type="submit" kind="danger">
              {words('audit.clear')}
            </Button>
          </DialogFoot>
        </FormDialog>
      )}
    </Page>
  );
}
