import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { User } from '../api/wire.js';
import { clockTime, duration, sentence, useWords } from '../i18n/text.js';
import { isNear, isOver, titleOf, usedPart } from '../state/key-list.js';
import { goTo, hrefOf } from '../state/route.js';
import { useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { add, type Whole } from '../text/exact-json.js';
import { formatExact } from '../text/sizes.js';
import { TrafficChart } from '../ui/chart.js';
import { Icon } from '../ui/icon.js';
import { Notice } from '../ui/notice.js';
import { Size } from '../ui/size.js';
import { Sparkline } from '../ui/sparkline.js';
import { Usage } from './keys/row.js';

const TOP = 8;

interface Summary {
  readonly up: Whole;
  readonly down: Whole;
  readonly online: number;
  readonly top: readonly User[];
  readonly near: readonly User[];
  /** Whether `online` says that the key is connected; on older servers it says that it has counters. */
  readonly tellsOnline: boolean;
}

function summarise(users: readonly User[]): Summary {
  let up: Whole = 0;
  let down: Whole = 0;
  let online = 0;
  for (const user of users) {
    up = add(up, user.bytes_up);
    down = add(down, user.bytes_down);
    if (user.online) online += 1;
  }
  const top = users
    .filter((user) => user.bytes_down > 0)
    .sort((a, b) => (a.bytes_down === b.bytes_down ? 0 : a.bytes_down > b.bytes_down ? -1 : 1))
    .slice(0, TOP);
  const near = users
    .filter((user) => isNear(user) || isOver(user))
    .sort((a, b) => (usedPart(b) ?? 0) - (usedPart(a) ?? 0))
    .slice(0, TOP);
  const tellsOnline = users.every((user) => user.last_seen !== undefined);
  return { up, down, online, top, near, tellsOnline };
}

/** How the server and its traffic stand. */
export function OverviewPage() {
  const words = useWords();
  const { status: statusStore, users, contact } = useWorkspace();
  const status = useStore(statusStore);
  const { users: list, error } = useStore(users.state);
  useEffect(() => contact.add(users.load), [contact, users]);
  const summary = useMemo(() => (list === null ? null : summarise(list)), [list]);
  const whole = (value: Whole) => formatExact(value, words.language);
  return (
    <div class="page">
      <h1>{words('page.overview')}</h1>
      {error !== null && list === null && <Notice tone="bad">{sentence(error, words)}</Notice>}
      <dl class="figures">
        <Figure label={words('overview.keys')}>{status === null ? '…' : whole(status.total_users)}</Figure>
        <Figure
          label={words('overview.online')}
          hint={summary?.tellsOnline === false ? words('absent.online') : undefined}
        >
          {summary === null ? '…' : whole(summary.online)}
        </Figure>
        <Figure label={words('overview.active')}>{status === null ? '…' : whole(status.active_users)}</Figure>
        <Figure label={words('overview.down')}>{summary === null ? '…' : <Size bytes={summary.down} />}</Figure>
        <Figure label={words('overview.up')}>{summary === null ? '…' : <Size bytes={summary.up} />}</Figure>
        <Figure label={words('overview.uptime')}>
          {status === null ? '…' : duration(Number(status.uptime_seconds), words)}
        </Figure>
        <Figure label={words('overview.version')}>{status?.version ?? '…'}</Figure>
      </dl>
      <Traffic />
      <div class="columns">
        <section class="card">
          <h2>{words('overview.top')}</h2>
          <p class="hint">{words('overview.topNote')}</p>
          {summary !== null && summary.top.length === 0 && <NoKeys any={list !== null && list.length > 0} />}
          <ol class="ranking">
            {summary?.top.map((user) => (
              <Ranked key={user.access_key} user={user}>
                <Sparkline points={users.history.of(user.access_key)} />
                <Size bytes={user.bytes_down} />
              </Ranked>
            ))}
          </ol>
        </section>
        <section class="card">
          <h2>{words('overview.near')}</h2>
          {summary !== null && summary.near.length === 0 && <p class="hint">{words('overview.noNear')}</p>}
          <ol class="ranking">
            {summary?.near.map((user) => (
              <Ranked key={user.access_key} user={user}>
                <Usage user={user} />
              </Ranked>
            ))}
          </ol>
        </section>
      </div>
    </div>
  );
}

interface FigureProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly children: ComponentChildren;
}

function Figure({ label, hint, children }: FigureProps) {
  return (
    <div title={hint} class={hint === undefined ? '' : 'missing'}>
      <dt>{label}</dt>
      <dd>{children}</dd>
      {hint !== undefined && <dd class="visually-hidden">{hint}</dd>}
    </div>
  );
}

function Ranked({ user, children }: { readonly user: User; readonly children: ComponentChildren }) {
  return (
    <li>
      <a href={hrefOf('keys', user.access_key)}>{titleOf(user).slice(0, 120)}</a>
      <span class="ranked">{children}</span>
    </li>
  );
}

function NoKeys({ any }: { readonly any: boolean }) {
  const words = useWords();
  if (any) return <p class="hint">{words('key.noTraffic')}</p>;
  return (
    <>
      <p class="hint">{words('overview.noKeys')}</p>
      <button type="button" class="button button-primary" onClick={() => goTo('keys')}>
        <Icon name="plus" /> {words('overview.first')}
      </button>
    </>
  );
}

function Traffic() {
  const words = useWords();
  const { users } = useWorkspace();
  useStore(users.state, ({ loadedAt }) => loadedAt);
  const { history } = users;
  return (
    <section class="card">
      <h2>{words('overview.chart')}</h2>
      <TrafficChart points={history.total()} label={words('overview.chart')} />
      {history.since !== null && (
        <p class="hint">{words('overview.chartSince', { time: clockTime(history.since, words.language) })}</p>
      )}
    </section>
  );
}
