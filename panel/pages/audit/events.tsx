import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatLimit } from '../../../src/text/sizes.js';
import { type EventKey, keysOf, type ServerEvent, textOf } from '../../api/events.js';
import { useWords, type Words } from '../../i18n/text.js';
import { useEventFeed } from '../../state/event-feed.js';
import { eventText } from '../../state/event-text.js';
import { titleOf } from '../../state/key-list.js';
import { hrefOf } from '../../state/route.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { isWhole } from '../../text/exact-json.js';
import { visible } from '../../text/visible.js';
import { Age } from '../../ui/age.js';
import { Button } from '../../ui/button.js';
import { Select } from '../../ui/field.js';
import { Empty, Listed } from '../../ui/notice.js';
import { Page } from '../../ui/page.js';
import { whoText } from '../../ui/who.js';

/** Events that are asked for at first, and at most. */
const FIRST = 100;
const MOST = 10_000;
/** Keys that a sentence names. */
const NAMED = 5;

/** The kinds of events by the beginnings of their types. */
const KINDS = {
  created: 'key.created',
  changed: 'key.changed',
  removed: 'key.removed',
  reset: 'key.reset',
  over: 'key.over_limit',
  rotated: 'key.rotated',
  configuration: 'configuration.',
  server: 'server.',
  jobs: 'job.',
} as const;
type Kind = keyof typeof KINDS;
const FILTERS = ['all', ...Object.keys(KINDS)] as readonly ('all' | Kind)[]; // The members of a constant.

/** The events of the last 7 days, newest first, as they happen. */
export function Events({ tabs }: { readonly tabs: ComponentChildren }) {
  const words = useWords();
  const [limit, setLimit] = useState(FIRST);
  const [kind, setKind] = useState<'all' | Kind>('all');
  const { events, hasMore, error } = useEventFeed(limit);
  const shown = events?.filter(({ type }) => kind === 'all' || type.startsWith(KINDS[kind])) ?? null;
  const tools = (
    <>
      {tabs}
      <span class="grow" />
      <Select aria-label={words('action.show')} names={FILTERS} value={kind} onChoose={setKind}>
        {(name) => words(name === 'all' ? 'keys.filter.all' : `events.kind.${name}`)}
      </Select>
    </>
  );
  return (
    <Page title={words('page.audit')} tools={tools}>
      <Listed
        items={shown}
        error={error}
        empty={<Empty icon="audit" title={words('audit.none')} text={words('events.note')} />}
      >
        {(some) => (
          <ol class="card card-flush entries" aria-label={words('events.title')}>
            {some.map((event) => (
              <li key={event.id} class="line event">
                <Age time={event.time} />
                <p>
                  <Sentence event={event} />
                  {textOf(event, 'by') && <span class="quiet"> · {whoText(textOf(event, 'by'), words)}</span>}
                </p>
              </li>
            ))}
          </ol>
        )}
      </Listed>
      {hasMore && limit < MOST && (
        <div class="line">
          <Button onClick={() => setLimit(Math.min(MOST, limit * 5))}>{words('events.older')}</Button>
        </div>
      )}
      {shown?.length !== 0 && <p class="hint">{words('events.note')}</p>}
    </Page>
  );
}

/** The kinds that are about keys. */
const KEY_KINDS = ['created', 'changed', 'removed', 'reset', 'over', 'rotated'] as const satisfies readonly Kind[];

function Sentence({ event }: { readonly event: ServerEvent }) {
  const words = useWords();
  const kind = KEY_KINDS.find((name) => KINDS[name] === event.type);
  if (kind === undefined) return <>{eventText(event, words)}</>;
  const keys = keysOf(event);
  if (keys.length === 0) return <>{words('events.many')}</>;
  const more = keys.length - NAMED;
  return (
    <>
      {words(`events.key.${kind}`, { n: keys.length })}:{' '}
      {keys.slice(0, NAMED).map((key, index) => (
        <span key={key.key}>
          {index > 0 && ', '}
          <KeyName of={key} />
          {changesText(key, words)}
        </span>
      ))}
      {more > 0 && ` ${words('failed.more', { n: more })}`}
    </>
  );
}

/** Digits of a key that stand for one without a name. */
const DIGITS = 8;

/** The key by its name, as a link where it is still there. */
function KeyName({ of: { key, name } }: { readonly of: EventKey }) {
  const words = useWords();
  const { users } = useWorkspace();
  const isThere = useStore(users.state, ({ byKey }) => byKey.has(key));
  const unnamed = `${words('keys.unnamed')} ${titleOf({ access_key: key }).slice(0, DIGITS)}…`;
  const title = name === '' ? unnamed : titleOf({ access_key: key, name }).slice(0, 120);
  if (!isThere) return <bdi>{title}</bdi>;
  return (
    <a href={hrefOf('keys', key)} dir="auto">
      {title}
    </a>
  );
}

/** The members of a key that became others, from what to what. A key's own digits say nothing to anybody. */
function changesText({ changes }: EventKey, words: Words): string {
  const told = changes.flatMap(({ member, from, to }) => {
    if (member === 'note') return [words('keys.note')];
    if (member === 'name') {
      const shown = (name: unknown) => visible(String(name || words('keys.unnamed')).slice(0, 120));
      return [`${shown(from)} → ${shown(to)}`];
    }
    if (member !== 'limit_bytes') return [];
    const shown = (limit: unknown) => (isWhole(limit) ? formatLimit(limit, words.language) : words('keys.unlimited'));
    return [`${words('keys.limit')} ${shown(from)} → ${shown(to)}`];
  });
  return told.length === 0 ? '' : ` (${told.join('; ')})`;
}
