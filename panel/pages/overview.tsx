import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatExact, formatSize } from '../../src/text/sizes.js';
import type { Whole } from '../../src/text/whole.js';
import type { User } from '../api/wire.js';
import { duration, useWords } from '../i18n/text.js';
import { firstStepsOf } from '../state/first-steps.js';
import { isConnected, largest, NEAR, tellsOnline, titleOf, usedPart } from '../state/key-list.js';
import { type KeysView, keysViewOf } from '../state/keys-view.js';
import { goTo, hrefOf } from '../state/route.js';
import { useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { add } from '../text/exact-json.js';
import { Button, Segments } from '../ui/button.js';
import { Sparkline, TrafficChart } from '../ui/chart.js';
import { Empty, Failure } from '../ui/notice.js';
import { Fact, Page } from '../ui/page.js';
import { Seen, sinceTime } from '../ui/seen.js';
import { Size } from '../ui/size.js';
import { FirstSteps } from './first-steps.js';
import { Usage } from './keys/quota.js';

/** Keys of the longest list, and of those that share the card beside it. */
const TOP = 10;
const BESIDE = 5;

interface Summary {
  readonly up: Whole;
  readonly down: Whole;
  readonly connected: readonly User[];
  readonly top: readonly User[];
  readonly near: readonly User[];
  /** True where the server knows who is connected. */
  readonly knowsOnline: boolean;
}

function summarise(users: readonly User[]): Summary {
  let up: Whole = 0;
  let down: Whole = 0;
  for (const user of users) {
    up = add(up, user.bytes_up);
    down = add(down, user.bytes_down);
  }
  const top = largest(users, TOP, (a, b) => a.bytes_down > b.bytes_down).filter((user) => user.bytes_down > 0);
  const near = users.filter((user) => (usedPart(user) ?? 0) >= NEAR);
  return { up, down, connected: users.filter(isConnected), top, near, knowsOnline: users.every(tellsOnline) };
}

/** The state of the server, its traffic, and who is there. */
export function OverviewPage() {
  const words = useWords();
  const { status: statusStore, users } = useWorkspace();
  const status = useStore(statusStore);
  const { users: list, error } = useStore(users.state);
  const summary = useMemo(() => (list === null ? null : summarise(list)), [list]);
  const whole = (value: Whole) => formatExact(value, words.language);
  const blind = summary !== null && !summary.knowsOnline;
  const untold = error === null ? '…' : '—';
  return (
    <Page title={words('page.overview')} tools={<Health />}>
      {list === null && <Failure of={error} />}
      <dl class="figures">
        <Fact label={words('page.keys')}>{status === null ? '…' : whole(status.total_users)}</Fact>
        <Fact label={words('overview.online')} missing={blind} title={blind ? words('absent.online') : undefined}>
          {summary === null ? untold : blind ? '—' : whole(summary.connected.length)}
        </Fact>
        <Fact label={words('overview.active')}>{status === null ? '…' : whole(status.active_users)}</Fact>
        <Fact label={words('overview.down')}>{summary === null ? untold : <Size bytes={summary.down} />}</Fact>
        <Fact label={words('overview.up')}>{summary === null ? untold : <Size bytes={summary.up} />}</Fact>
      </dl>
      {blind && <p class="hint">{words('absent.online')}</p>}
      {list !== null && <FirstSteps users={list} />}
      {summary !== null && (list?.length === 0 ? <NoKeys /> : <Board summary={summary} users={list ?? []} />)}
    </Page>
  );
}

interface BoardProps {
  readonly summary: Summary;
  readonly users: readonly User[];
}

/** The traffic and the keys that it belongs to, in cards. */
function Board({ summary: { connected, top, near, knowsOnline }, users: list }: BoardProps) {
  const words = useWords();
  const { history } = useWorkspace().users;
  const isQuiet = top.length + connected.length + near.length === 0;
  return (
    <div class="stack board">
      <Traffic />
      {!isQuiet && (
        <>
          <section class="card board-top">
            <header class="line">
              <h2>{words('overview.top')}</h2>
            </header>
            {top.length === 0 && <p class="hint">{words('overview.noTraffic')}</p>}
            <ol class="ranking">
              {top.map((user) => (
                <Ranked key={user.access_key} user={user} part={Number(user.bytes_down) / Number(top[0]?.bytes_down)}>
                  <Sparkline points={history.of(user.access_key)} />
                  <Size bytes={user.bytes_down} />
                </Ranked>
              ))}
            </ol>
            {top.length > 0 && <p class="hint">{words('overview.topNote')}</p>}
          </section>
          <div class="card">
            <Present connected={connected} blind={!knowsOnline} users={list} />
            <section class="board-near">
              <header class="line">
                <h2>{words('overview.near')}</h2>
                <ShowAll n={near.length} view={{ filter: 'all', sorting: { column: 'used', descending: true } }} />
              </header>
              {near.length === 0 && <p class="hint">{words('overview.noNear')}</p>}
              <ol class="ranking">
                {largest(near, BESIDE, (a, b) => (usedPart(a) ?? 0) > (usedPart(b) ?? 0)).map((user) => (
                  <Ranked key={user.access_key} user={user}>
                    <Usage user={user} />
                  </Ranked>
                ))}
              </ol>
            </section>
          </div>
        </>
      )}
    </div>
  );
}

/** Says that the server answers, how quickly, since when it runs, and its version. */
function Health() {
  const words = useWords();
  const { status: statusStore, contact, place } = useWorkspace();
  const status = useStore(statusStore);
  const away = useStore(contact.state, ({ failingSince }) => failingSince !== null);
  if (status === null) return null;
  const parts = [
    away ? words('overview.away') : words('overview.answers', { n: Math.max(1, Math.round(status.took)) }),
    words('overview.uptime', { time: duration(Number(status.uptime_seconds), words) }),
    words('overview.version', { version: status.version }),
    ...(place.keyway === null ? [] : [`Keyway ${place.keyway}`]),
  ];
  return <p class={away ? 'hint health health-away' : 'hint health'}>{parts.join(' · ')}</p>;
}

interface RankedProps {
  readonly user: User;
  /** The length of its bar, 1 being all of the width; absent for none. */
  readonly part?: number;
  readonly children: ComponentChildren;
}

function Ranked({ user, part, children }: RankedProps) {
  return (
    <li class="line nowrap">
      <span class="line nowrap grow ranked-name">
        {part !== undefined && <span class="ranked-bar" style={{ width: `${Math.round(part * 100)}%` }} />}
        <a href={hrefOf('keys', user.access_key)} dir="auto">
          {titleOf(user).slice(0, 120)}
        </a>
      </span>
      <span class="line nowrap ranked">{children}</span>
    </li>
  );
}

/** Stands in the place of the cards, which would all be empty, when the first steps are not shown either. */
function NoKeys() {
  const words = useWords();
  const hasSteps = !useStore(firstStepsOf(useWorkspace()));
  if (hasSteps) return null;
  return (
    <Empty icon="keys" title={words('keys.none')} text={words('keys.noneText')}>
      <Button kind="primary" icon="plus" onClick={() => goTo('keys')}>
        {words('overview.first')}
      </Button>
    </Empty>
  );
}

interface PresentProps {
  readonly connected: readonly User[];
  /** Shows the keys whose counters just moved, because the server cannot know who is connected. */
  readonly blind: boolean;
  readonly users: readonly User[];
}

/** The keys that are connected now. */
function Present({ connected, blind, users: list }: PresentProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const { history } = workspace.users;
  const shown = useMemo(() => {
    const rate = (user: User) => {
      const last = history.of(user.access_key).at(-1);
      return last === undefined ? 0 : (last.up + last.down) / last.seconds;
    };
    const rated = (blind ? list : connected).map((user) => ({ user, rate: rate(user) }));
    return largest(
      blind ? rated.filter((each) => each.rate > 0) : rated,
      BESIDE,
      (a, b) => a.rate > b.rate || (a.rate === b.rate && a.user.connections > b.user.connections),
    );
  }, [list]);
  return (
    <section class="board-present">
      <header class="line">
        <h2>{words(blind ? 'overview.moving' : 'overview.online')}</h2>
        {!blind && <ShowAll n={connected.length} view={{ filter: 'online' }} />}
      </header>
      {shown.length === 0 && <p class="hint">{words(blind ? 'overview.noneMoving' : 'overview.noneOnline')}</p>}
      <ol class="ranking">
        {shown.map(({ user, rate }) => (
          <Ranked key={user.access_key} user={user}>
            <span class="quiet">
              {words('overview.perSecond', { size: formatSize(Math.round(rate), words.language) })}
            </span>
            {!blind && <span>{words('overview.connections', { n: user.connections })}</span>}
          </Ranked>
        ))}
      </ol>
    </section>
  );
}

interface ShowAllProps {
  /** The number of keys, of which the card has the first. */
  readonly n: number;
  readonly view: Partial<KeysView>;
}

/** Leads to the list where it has more of these keys. */
function ShowAll({ n, view }: ShowAllProps) {
  const words = useWords();
  const workspace = useWorkspace();
  if (n <= BESIDE) return null;
  const show = () => {
    keysViewOf(workspace).patch(view);
    goTo('keys');
  };
  return (
    <Button kind="small" onClick={show}>
      {words('overview.all', { n })}
    </Button>
  );
}

/** Milliseconds that the chart can show; 0 for all that was seen. */
const RANGES = { quarter: 900_000, hour: 3_600_000, all: 0 } as const;
type Range = keyof typeof RANGES;
const RANGE_NAMES = ['quarter', 'hour', 'all'] as const satisfies readonly Range[];

/** The traffic while the page was open, or the last part of it. */
function Traffic() {
  const words = useWords();
  const { users } = useWorkspace();
  useStore(users.state, ({ loadedAt }) => loadedAt);
  const [range, setRange] = useState<Range>('all');
  const { history } = users;
  const all = history.total();
  const last = all.at(-1)?.time ?? 0;
  const points = range === 'all' ? all : all.filter(({ time }) => time > last - RANGES[range]);
  const moved = all.some(({ up, down }) => up > 0 || down > 0);
  const { since } = history;
  return (
    <section class="card board-chart">
      <header class="line">
        <h2>{words('overview.chart')}</h2>
        {moved && since !== null && last - since > RANGES.quarter && (
          <Segments label={words('overview.range')} names={RANGE_NAMES} chosen={range} onChoose={setRange}>
            {(name) => words(`overview.range.${name}`)}
          </Segments>
        )}
      </header>
      {moved || all.length === 0 ? (
        <TrafficChart points={points} label={words('overview.chart')} height={220} />
      ) : (
        <p class="hint">
          {words('overview.chartStill', { time: since === null ? '' : sinceTime(since, words.language) })}
        </p>
      )}
      {moved && <Seen points={points} />}
    </section>
  );
}
