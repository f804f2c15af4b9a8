import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AuditEntry } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { auditListOf } from '../../state/audit-list.js';
import { useRefreshed } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import type { Language } from '../../store/preferences.js';
import { useStore } from '../../store/store.js';
import { type AuditText, readAuditText } from '../../text/audit-text.js';
import { csvTable, jsonLines } from '../../text/tables.js';
import { Age } from '../../ui/age.js';
import { Button } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { download } from '../../ui/download.js';
import { ALL_LINES, contains, LineFilterTools } from '../../ui/line-filter.js';
import { Empty, Listed } from '../../ui/notice.js';
import { Absent, Page } from '../../ui/page.js';
import { whoText } from '../../ui/who.js';

type Shown = AuditText & Pick<AuditEntry, 'id' | 'time' | 'success'>;

/** In the viewer's language; other panels may have written one language alone. */
function shownIn(language: Language, { eventEn, eventRu, ...entry }: AuditEntry): Shown {
  const text = language === 'ru' ? eventRu || eventEn : eventEn || eventRu;
  return { ...entry, ...readAuditText(text) };
}

/** The audit list, newest first. */
export function AuditList({ tabs }: { readonly tabs: ComponentChildren }) {
  const has = useStore(useWorkspace().offers, ({ audit }) => audit);
  return has === false ? <Absent page="audit" tools={tabs || undefined} /> : <Entries tabs={tabs} />;
}

function Entries({ tabs }: { readonly tabs: ComponentChildren }) {
  const words = useWords();
  const list = auditListOf(useWorkspace());
  const entries = useStore(list.entries);
  const [asking, setAsking] = useState(false);
  const [filter, setFilter] = useState(ALL_LINES);
  const error = useRefreshed(list.load);
  const clear = async () => {
    await list.clear();
    setAsking(false);
  };
  const shown = useMemo(() => {
    const read = (entries ?? []).map((entry) => shownIn(words.language, entry));
    return read.filter(({ text, by, success }) => !(filter.only && success) && contains(filter, text, by ?? ''));
  }, [entries, filter, words]);
  const isEmpty = entries === null || entries.length === 0;
  const tools = (
    <>
      {tabs}
      <span class="grow" />
      {!isEmpty && (
        <>
          <ExportButtons entries={shown} />
          <Button icon="trash" shrinks onClick={() => setAsking(true)}>
            {words('audit.clear')}
          </Button>
        </>
      )}
    </>
  );
  return (
    <Page title={words('page.audit')} tools={tools}>
      <Listed
        items={entries}
        error={error}
        empty={<Empty icon="audit" title={words('audit.none')} text={words('audit.noneText')} />}
      >
        {() => (
          <>
            <div class="line toolbar-line">
              <LineFilterTools
                label={words('audit.filter')}
                only={words('audit.failedOnly')}
                filter={filter}
                onFilter={setFilter}
              />
            </div>
            {shown.length === 0 ? (
              <p class="hint">{words('keys.noMatch')}</p>
            ) : (
              <ol class="card card-flush entries" aria-label={words('page.audit')}>
                {shown.map((entry) => (
                  <Row key={entry.id} entry={entry} />
                ))}
              </ol>
            )}
          </>
        )}
      </Listed>
      <p class="hint">{words('audit.note')}</p>
      {asking && (
        <FormDialog title={words('audit.clearTitle')} onSubmit={clear} onClose={() => setAsking(false)}>
          <p>{words('audit.clearText')}</p>
          <DialogFoot onClose={() => setAsking(false)} isSafe kind="danger">
            {words('audit.clear')}
          </DialogFoot>
        </FormDialog>
      )}
    </Page>
  );
}

function Row({ entry: { text, by, at, time, success } }: { readonly entry: Shown }) {
  const words = useWords();
  return (
    <li class="line event">
      {at === null ? <time title={words('audit.serverTime')}>{time}</time> : <Age time={at} />}
      <p>
        {text.slice(0, 500)}
        {by !== null && <span class="quiet"> · {by === 'token' ? words('who.token') : whoText(by, words)}</span>}
      </p>
      {!success && <span class="badge badge-block">{words('audit.failure')}</span>}
    </li>
  );
}

/** Saves the entries that the list shows. */
function ExportButtons({ entries }: { readonly entries: readonly Shown[] }) {
  const words = useWords();
  const rows = () =>
    entries.map(({ at, time, by, text, success }) => ({
      time: at === null ? null : new Date(at).toISOString(),
      server_time: time,
      by,
      event: text,
      success,
    }));
  return (
    <>
      <Button icon="table" shrinks onClick={() => download('audit', 'csv', csvTable(rows()))}>
        {words('bulk.csv')}
      </Button>
      <Button icon="braces" shrinks onClick={() => download('audit', 'json', jsonLines(rows()))}>
        {words('bulk.json')}
      </Button>
    </>
  );
}
