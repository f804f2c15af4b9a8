import { useEffect, useState } from 'preact/hooks';
import type { DnsQuery, DnsSettings } from '../../api/wire.js';
import { clockTime, sentence, useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { encodeExact } from '../../text/exact-json.js';
import { Absent } from '../../ui/absent.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';
import { DnsInFile } from '../file/dns-in-file.js';
import { DnsSettingsForm, dnsDraftOf } from './dns-settings.js';
import { QueryLog } from './query-log.js';

export function DnsPage() {
  const words = useWords();
  const { dns, config } = useStore(useWorkspace().offers);
  if (dns === false && config === true) return <DnsInFile />;
  if (dns === false) return <Absent feature="dns" icon="dns" title={words('page.dns')} />;
  return <DnsControl />;
}

function DnsControl() {
  const words = useWords();
  const workspace = useWorkspace();
  const { server, contact } = workspace;
  const store = dnsDraftOf(workspace);
  const draft = useStore(store);
  const [queries, setQueries] = useState<readonly DnsQuery[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [meanwhile, setMeanwhile] = useState(false);
  useEffect(
    () =>
      contact.add(async () => {
        try {
          const [settings, log] = await Promise.all([server.dns(), server.dnsQueries()]);
          take(settings);
          setQueries(log);
          setError(null);
        } catch (problem) {
          setError(problem);
          throw problem;
        }
      }),
    [contact, server],
  );

  function take(settings: DnsSettings): void {
    const known = store.get();
    const untouched = known === null || known.base === known.now;
    if (untouched && encodeExact(known?.base) !== encodeExact(settings)) store.set({ base: settings, now: settings });
    else if (known !== null) setMeanwhile(encodeExact(known.base) !== encodeExact(settings));
  }

  return (
    <div class="page">
      <div class="toolbar-line">
        <h1>{words('page.dns')}</h1>
        <span class="grow" />
        <Refresh queries={queries ?? []} />
      </div>
      {error !== null && <Notice tone="bad">{sentence(error, words)}</Notice>}
      {draft === null && error === null && <p class="hint loading">{words('login.checking')}</p>}
      {draft !== null && <DnsSettingsForm draft={draft} store={store} meanwhile={meanwhile} />}
      {queries !== null && <QueryLog queries={queries} />}
    </div>
  );
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
  const text =
    outcome === null
      ? ''
      : 'why' in outcome
        ? words('dns.refreshFailed', { why: sentence(outcome.why, words) })
        : `${words('dns.refreshing', { time: clockTime(outcome.at, words.language) })} ${words('dns.refreshBlocked', {
            n: queries.filter(({ blocked, timestamp }) => blocked && Number(timestamp) * 1000 >= outcome.at).length,
          })}`;
  return (
    <>
      <span class="hint" role="status">
        {text}
      </span>
      <button type="button" class="button" onClick={refresh}>
        <Icon name="refresh" /> {words('dns.refresh')}
      </button>
    </>
  );
}
