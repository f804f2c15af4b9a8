import { useState } from 'preact/hooks';
import type { DnsQuery } from '../../api/wire.js';
import { clockTime, sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { useServerDraft } from '../../state/drafts.js';
import { dnsDraftsOf } from '../../state/server-drafts.js';
import { useRefreshed } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { printExact } from '../../text/exact-json.js';
import { Button } from '../../ui/button.js';
import { Meanwhile } from '../../ui/difference.js';
import { Failure, Loading } from '../../ui/notice.js';
import { Absent, Page } from '../../ui/page.js';
import { Sections } from '../../ui/sections.js';
import { DnsInFile } from '../file/dns-in-file.js';
import { DnsFields } from './dns-fields.js';
import { QueryLog } from './query-log.js';

export function DnsPage() {
  const { dns, config } = useStore(useWorkspace().offers);
  if (dns === false && config === true) return <DnsInFile />;
  return dns === false ? <Absent page="dns" /> : <DnsControl />;
}

/** The id of the form, whose button stands beside the title. */
const FORM = 'dns-settings';

function DnsControl() {
  const words = useWords();
  const { server } = useWorkspace();
  const [queries, setQueries] = useState<readonly DnsQuery[] | null>(null);
  const logError = useRefreshed(async () => setQueries(await server.dnsQueries()));
  const [valid, setValid] = useState(true);
  const { draft, theirs, loadError, saveError, ...edit } = useServerDraft(dnsDraftsOf);
  const isDirty = edit.isDirty();
  const submit = (event: Event) => {
    event.preventDefault();
    if (valid && theirs === null) void edit.save();
  };
  const error = loadError ?? logError;
  const tools = (
    <>
      <span class="grow" />
      <Refresh queries={queries} />
      {isDirty && <Button onClick={edit.discard}>{words('action.discard')}</Button>}
      <Button
        type="submit"
        form={FORM}
        kind="primary"
        off={
          !isDirty
            ? words('off.unchanged')
            : (!valid && words('off.invalid')) || (theirs !== null && words('off.choose'))
        }
      >
        {words('dns.save')}
      </Button>
    </>
  );
  return (
    <Page title={words('page.dns')} tools={tools}>
      <Failure of={error} />
      {(draft === null || queries === null) && error === null && <Loading />}
      {draft !== null && (
        <form id={FORM} class="stack" onSubmit={submit}>
          <Failure of={saveError} urgent />
          {theirs !== null && (
            <Meanwhile
              before={printExact(draft.base)}
              now={printExact(theirs)}
              isBusy={edit.busy}
              onTheirs={edit.discard}
              onMine={edit.saveOver}
            >
              {words('meanwhile.changed')}
            </Meanwhile>
          )}
          <DnsFields
            base={draft.base}
            now={draft.now}
            ofFile={false}
            onChange={(members) => edit.change({ ...draft.now, ...members })}
            onValid={setValid}
          >
            {(parts) => <Sections of={parts} />}
          </DnsFields>
        </form>
      )}
      {queries !== null && <QueryLog queries={queries} />}
    </Page>
  );
}

type Outcome = { readonly at: number } | { readonly why: unknown };

/** Asks for a refresh and says what came of it, as far as a server that answers at once lets one know. */
function Refresh({ queries }: { readonly queries: readonly DnsQuery[] | null }) {
  const words = useWords();
  const workspace = useWorkspace();
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const refresh = async () => {
    try {
      await workspace.server.refreshBlocklists();
      setOutcome({ at: Date.now() });
      note(workspace, 'refreshLists', true);
    } catch (why) {
      setOutcome({ why });
      note(workspace, 'refreshLists', false);
    }
  };
  const said = (made: Outcome) => {
    if ('why' in made) return words('dns.refreshFailed', { why: sentence(made.why, words) });
    const started = words('dns.refreshing', { time: clockTime(made.at, words.language) });
    if (queries === null) return started;
    const since = queries.filter(({ blocked, timestamp }) => blocked && Number(timestamp) * 1000 >= made.at);
    return `${started} ${words('dns.refreshBlocked', { n: since.length })}`;
  };
  return (
    <>
      <span class="hint" role="status">
        {outcome === null ? '' : said(outcome)}
      </span>
      <Button icon="refresh" onClick={refresh}>
        {words('dns.refresh')}
      </Button>
    </>
  );
}
