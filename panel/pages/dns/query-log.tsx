import { useMemo, useState } from 'preact/hooks';
import type { DnsQuery } from '../../api/wire.js';
import { clockTime, fullTime, useWords } from '../../i18n/text.js';
import { Icon } from '../../ui/icon.js';
import { Empty } from '../../ui/notice.js';
import { Scrolls, Table } from '../../ui/page.js';

/** Lines drawn at once; a server keeps a thousand. */
const MOST = 300;

const BADGES = { blocked: 'badge-block', failed: 'badge-warn', allowed: '' } as const;

function outcomeOf({ blocked, failed }: DnsQuery): keyof typeof BADGES {
  return blocked ? 'blocked' : failed ? 'failed' : 'allowed';
}

/** The last queries, newest first, with a filter. */
export function QueryLog({ queries }: { readonly queries: readonly DnsQuery[] }) {
  const words = useWords();
  const [part, setPart] = useState('');
  const [blockedOnly, setBlockedOnly] = useState(false);
  const shown = useMemo(() => {
    const wanted = part.trim().toLowerCase();
    return queries
      .filter(({ domain, client_ip: client, blocked }) => {
        if (blockedOnly && !blocked) return false;
        return domain.toLowerCase().includes(wanted) || client.toLowerCase().includes(wanted);
      })
      .slice(-MOST)
      .reverse();
  }, [queries, part, blockedOnly]);
  const heads = (['audit.time', 'dns.domain', 'dns.client', 'audit.outcome'] as const).map((name) => words(name));
  return (
    <section class="card" aria-label={words('dns.log')}>
      <div class="toolbar-line">
        <h2>{words('dns.log')}</h2>
        <span class="grow" />
        <div class="search">
          <Icon name="search" />
          <input
            type="search"
            data-search=""
            aria-label={words('dns.filter')}
            placeholder={words('dns.filter')}
            value={part}
            onInput={(event) => setPart(event.currentTarget.value)}
          />
        </div>
        <div class="segments" role="group" aria-label={words('keys.filter')}>
          <button type="button" aria-pressed={blockedOnly} onClick={() => setBlockedOnly(!blockedOnly)}>
            {words('dns.blockedOnly')}
          </button>
        </div>
      </div>
      {queries.length === 0 && <Empty icon="dns" title={words('dns.noQueries')} text={words('dns.noQueriesText')} />}
      {queries.length > 0 && shown.length === 0 && <p class="hint">{words('dns.noMatch')}</p>}
      {shown.length > 0 && (
        <Scrolls class="log" label={words('dns.log')}>
          <Table heads={heads}>
            {shown.map((query, index) => (
              <tr key={index}>
                <td title={fullTime(Number(query.timestamp) * 1000, words.language)}>
                  {clockTime(Number(query.timestamp) * 1000, words.language)}
                </td>
                <td class="mono">{query.domain.slice(0, 255)}</td>
                <td class="mono">{query.client_ip}</td>
                <td>
                  <span class={`badge ${BADGES[outcomeOf(query)]}`}>{words(`dns.outcome.${outcomeOf(query)}`)}</span>
                </td>
              </tr>
            ))}
          </Table>
        </Scrolls>
      )}
    </section>
  );
}
