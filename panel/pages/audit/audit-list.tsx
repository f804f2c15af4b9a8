import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AuditEntry } from '../../api/wire.js';
import { fullTime, useWords, type Words } from '../../i18n/text.js';
import { auditListOf } from '../../state/audit-list.js';
import { useRefreshed } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import type { Language } from '../../store/preferences.js';
import { useStore } from '../../store/store.js';
import { type AuditText, readAuditText } from '../../text/audit-text.js';
import { csvTable, jsonLines } from '../../text/tables.js';
import { Button } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { download, fileStamp } from '../../ui/download.js';
import { ALL_LINES, contains, LineFilterTools } from '../../ui/line-filter.js';
import { Empty, Failure, Loading } from '../../ui/notice.js';
import { Page, Scrolls, Table } from '../../ui/page.js';

/** The kinds of credentials that this page notes. */
const KINDS = ['session', 'static', 'token', 'open'] as const;

type Shown = AuditText & Pick<AuditEntry, 'id' | 'time' | 'success'>;

/** In the viewer's language; other panels may have written one language alone. */
function shownIn(language: Language, { eventEn, eventRu, ...entry }: AuditEntry): Shown {
  const text = language === 'ru' ? eventRu || eventEn : eventEn || eventRu;
  return { ...entry, ...readAuditText(text) };
}

/** The audit list, newest first. */
export function AuditList({ tabs }: { readonly tabs: ComponentChildren }) {
  const has = useStore(useWorkspace().offers, ({ audit }) => audit);
  const words = useWords();
  if (has !== false) return <Entries tabs={tabs} />;
  return (
    <Page title={words('page.audit')} tools={tabs || undefined}>
      <Empty icon="audit" title={words('absent.short')} text={words('absent.audit')} />
    </Page>
  );
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
      <Failure of={error} />
      {entries === null && error === null && <Loading />}
      {entries?.length === 0 && <Empty icon="audit" title={words('audit.none')} text={words('audit.noneText')} />}
      {!isEmpty && (
        <>
          <div class="toolbar-line">
            <LineFilterTools
              label={words('audit.filter')}
              only={words('audit.failedOnly')}
              filter={filter}
              onFilter={setFilter}
            />
          </div>
          {shown.length === 0 ? (
            <p class="hint">{words('audit.noMatch')}</p>
          ) : (
            <Scrolls class="card card-flush entry-table" label={words('page.audit')}>
              <Table heads={[zoned(words), words('usage.by'), words('audit.event'), words('audit.outcome')]}>
                {shown.map((entry) => (
                  <Row key={entry.id} entry={entry} />
                ))}
              </Table>
            </Scrolls>
          )}
        </>
      )}
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
  const kind = KINDS.find((name) => name === by);
  return (
    <tr>
      <td title={at === null ? words('audit.serverTime') : undefined}>
        {at === null ? time : fullTime(at, words.language)}
      </td>
      <td>{kind === undefined ? (by ?? '—') : words(`who.${kind}`)}</td>
      <td>{text.slice(0, 500)}</td>
      <td>
        <span class={success ? 'badge badge-good' : 'badge badge-block'}>
          {words(success ? 'audit.success' : 'audit.failure')}
        </span>
      </td>
    </tr>
  );
}

/** The head of the times, with the viewer's zone. */
function zoned(words: Words): string {
  const parts = new Intl.DateTimeFormat(words.language, { timeZoneName: 'short' }).formatToParts();
  return `${words('audit.time')} (${parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''})`;
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
  const name = () => `audit-${fileStamp(Date.now())}`;
  return (
    <>
      <Button icon="table" shrinks onClick={() => download(`${name()}.csv`, csvTable(rows()), 'text/csv')}>
        {words('bulk.csv')}
      </Button>
      <Button icon="braces" shrinks onClick={() => download(`${name()}.json`, jsonLines(rows()), 'application/json')}>
        {words('bulk.json')}
      </Button>
    </>
  );
}
