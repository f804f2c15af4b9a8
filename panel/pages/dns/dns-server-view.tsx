import { useEffect, useState } from 'preact/hooks';
import type { DnsList } from '../../api/own-dns.js';
import { fullTime, useWords } from '../../i18n/text.js';
import { useRefreshed } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Age } from '../../ui/age.js';
import { Button } from '../../ui/button.js';
import { Switch } from '../../ui/field.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { dnsServerOf } from './dns-server.js';
import { QueryLog } from './query-log.js';

/** The DNS server: its lists and what was blocked today, where Keyway's own interface tells them, and its log. */
export function DnsServerView() {
  const words = useWords();
  const dns = dnsServerOf(useWorkspace());
  const { server, queries } = useStore(dns.state);
  const error = useRefreshed(dns.load);
  const [problem, setProblem] = useState<unknown>(null);
  const tellOf = (done: Promise<void>) => {
    setProblem(null);
    done.catch(setProblem);
  };
  // Coming back shows the whole log.
  useEffect(() => () => dns.search(''), [dns]);
  const { reason, refreshing, refreshedAt, lists, today } = server || NOTHING_TOLD;
  return (
    <>
      <Failure of={problem ?? error} urgent />
      {queries === null && error === null && <Loading />}
      {server !== null && (
        <section class="card stack" aria-label={words('dns.lists')}>
          <div class="line toolbar-line">
            <h2>{words('dns.lists')}</h2>
            <span class="grow" />
            {refreshedAt !== null && <Age time={refreshedAt} />}
            <Button
              icon="refresh"
              off={reason === 'off' && words('dns.reason.off')}
              aria-disabled={refreshing}
              onClick={() => tellOf(dns.refresh())}
            >
              {words('dns.refresh')}
            </Button>
          </div>
          {reason !== null && reason !== 'none' && <Notice tone="warn">{words(`dns.reason.${reason}`)}</Notice>}
          {lists?.length === 0 && <p class="hint">{words('audit.none')}</p>}
          {lists?.map((list, index) => (
            <Switch
              key={index}
              label={list.name}
              hint={<ListHint list={list} />}
              checked={list.enabled}
              onChange={(enabled) => tellOf(dns.switchList(list.url, enabled))}
            />
          ))}
          {today !== null && (
            <p title={fullTime(today.since, words.language)}>
              {words('dns.today', { blocked: today.blocked, n: today.questions })}
            </p>
          )}
        </section>
      )}
      {queries !== null && <QueryLog queries={queries} onSearch={dns.search} />}
    </>
  );
}

/** The state of a server that has only a log. */
const NOTHING_TOLD = { reason: null, refreshing: false, refreshedAt: null, lists: null, today: null };

function ListHint({ list: { allows, names, fetchedAt, error } }: { readonly list: DnsList }) {
  const words = useWords();
  return (
    <>
      {allows && `${words('dns.outcome.allowed')} · `}
      {names !== null && `${words('dns.names', { n: names })} · `}
      {fetchedAt !== null && <Age time={fetchedAt} />} <span class="hint hint-bad">{error}</span>
    </>
  );
}
