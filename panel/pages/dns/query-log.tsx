import { useMemo, useState } from 'preact/hooks';
import type { DnsQuery } from '../../api/wire.js';
import { clockTime, fullTime, useWords } from '../../i18n/text.js';
import { ALL_LINES, contains, LineFilterTools } from '../../ui/line-filter.js';
import { Empty } from '../../ui/notice.js';
import { Scrolls, Table } from '../../ui/page.js';

/** Lines drawn at once; a server keeps a thousand. */
const MOST = 300;

const BADGES = { blocked: 'badge-block', failed: 'badge-warn', allowed: '' } as const;

function outcomeOf({ blocked, failed }: DnsQuery): keyof typeof BADGES {
  return blocked ? 'blocked' : failed ? 'failed' : 'allowed';
}

interface QueryLogProps {
  /** Oldest first. */
  readonly queries: readonly DnsQuery[];
  /** Told the part that is searched for: there may be more queries than these. */
  readonly onSearch: (part: string) => void;
}

/** The last queries, newest first, with a filter. */
export function QueryLog({ queries, onSearch }: QueryLogProps) {
  const words = useWords();
  const [filter, setFilter] = useState(ALL_LINES);
  const shown = useMemo(
    () =>
      queries
        .filter(({ domain, client_ip, blocked }) => (blocked || !filter.only) && contains(filter, domain, client_ip))
        .slice(-MOST)
        .reverse(),
    [queries, filter],
  );
  const heads = [words('audit.time'), words('dns.domain'), words('dns.client'), words('audit.outcome')];
  return (
    <section class="card" aria-label={words('dns.log')}>
      <div class="line toolbar-line">
        <h2>{words('dns.log')}</h2>
        <span class="grow" />
        <LineFilterTools
          label={words('dns.filter')}
          only={words('dns.blockedOnly')}
          filter={filter}
          onFilter={(next) => {
            setFilter(next);
            onSearch(next.part);
          }}
        />
      </div>
      {queries.length === 0 && <Empty icon="dns" title={words('dns.noQueries')} text={words('dns.noQueriesText')} />}
      {queries.length > 0 && shown.length === 0 && <p class="hint">{words('keys.noMatch')}</p>}
      {shown.length > 0 && (
        <Scrolls class="scroller" label={words('dns.log')}>
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
