import { useState } from 'preact/hooks';
import { type DnsQuery, type DnsSettings, readDns } from '../../api/wire.js';
import { clockTime, sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { createDrafts, useServerDraft } from '../../state/drafts.js';
import { useRefreshed } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button } from '../../ui/button.js';
import { ConflictChoices } from '../../ui/conflicts.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { Absent, Page } from '../../ui/page.js';
import { Sections } from '../../ui/sections.js';
import { DnsInFile } from '../file/dns-in-file.js';
import { DnsFields } from './dns-fields.js';
import { QueryLog } from './query-log.js';

const draftOf = createDrafts<DnsSettings>();

export function DnsPage() {
  const { dns, config } = useStore(useWorkspace().offers);
  if (dns === false && config === true) return <DnsInFile />;
  return dns === false ? <Absent page="dns" /> : <DnsControl />;
}

function DnsControl() {
  const words = useWords();
  const { server, reach } = useWorkspace();
  const [queries, setQueries] = useState<readonly DnsQuery[] | null>(null);
  const logError = useRefreshed(async () => setQueries(await server.dnsQueries()));
  const [valid, setValid] = useState(true);
  const { draft, dirty, loadError, saveError, ...edit } = useServerDraft({
    draftOf,
    read: () => server.dns(),
    parse: readDns,
    name: 'dns',
    write: (_, settings, changed, tag) =>
      server.replaceDns(
        reach.get() === 'all' ? { ...onlyThese(settings, changed), enabled: settings.enabled } : settings,
        tag,
      ),
    isSame: Object.is,
    event: 'saveDns',
    saved: (words) => words('dns.saved'),
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (valid && !edit.undecided) void edit.save();
  };
  const error = loadError ?? logError;
  const tools = (
    <>
      <span class="grow" />
      <Refresh queries={queries ?? []} />
    </>
  );
  return (
    <Page title={words('page.dns')} tools={tools}>
      <Failure of={error} />
      {(draft === null || queries === null) && error === null && <Loading />}
      {draft !== null && (
        <form class="page-form" onSubmit={submit}>
          <Failure of={saveError} urgent />
          {edit.meanwhile && dirty && (
            <Notice tone="plain">
              {words('dns.meanwhile')} {words('config.meanwhileStays')}
            </Notice>
          )}
          <ConflictChoices conflicts={edit.conflicts} choices={edit.choices} onChoose={edit.choose} />
          <DnsFields
            base={draft.base}
            now={draft.now}
            ofFile={false}
            onChange={(members) => edit.change({ ...draft.now, ...members })}
            onValid={setValid}
          >
            {(parts) => <Sections of={parts} />}
          </DnsFields>
          <footer class="card-foot">
            {dirty && <Button onClick={edit.discard}>{words('action.discard')}</Button>}
            <Button
              type="submit"
              kind="primary"
              off={
                !dirty
                  ? words('off.unchanged')
                  : (!valid && words('off.invalid')) || (edit.undecided && words('off.choose'))
              }
            >
              {words('dns.save')}
            </Button>
          </footer>
        </form>
      )}
      {queries !== null && <QueryLog queries={queries} />}
    </Page>
  );
}

/** The members of these names. Keyway leaves the absent ones as they are. */
function onlyThese(settings: DnsSettings, names: readonly string[]): Partial<DnsSettings> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => names.includes(name)));
}

type Outcome = { readonly at: number } | { readonly why: unknown };

/** Asks for a refresh and says what came of it, as far as a server that answers at once lets one know. */
function Refresh({ queries }: { readonly queries: readonly DnsQuery[] }) {
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
    const since = queries.filter(({ blocked, timestamp }) => blocked && Number(timestamp) * 1000 >= made.at);
    const time = clockTime(made.at, words.language);
    return `${words('dns.refreshing', { time })} ${words('dns.refreshBlocked', { n: since.length })}`;
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
