import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Feature, Offers } from '../api/offers.js';
import type { Reach } from '../api/own-interface.js';
import { placeName } from '../api/places.js';
import { clockTime, sentence, useWords } from '../i18n/text.js';
import { hrefOf, PAGES, type Page, route } from '../state/route.js';
import { usePlaces, useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { Button, IconButton } from './button.js';
import { Choices } from './choices.js';
import { Icon } from './icon.js';
import { Notice } from './notice.js';
import { ServerChoice } from './server-choice.js';
import { shortcutsOpen } from './shortcuts.js';

/** The feature of the server that a page needs. */
const NEEDS: Partial<Record<Page, Exclude<Feature, 'share' | 'bulk'>>> = {
  configuration: 'config',
  rules: 'rules',
  dns: 'dns',
  audit: 'audit',
};

/** The reach in Keyway's own interface without which a page is not there. */
const REACHES: Partial<Record<Page, readonly (Reach | null)[]>> = { tokens: ['all'] };

/** Pages that edit the file where the server has no operations for them. */
const EDITED_IN_FILE: ReadonlySet<Page> = new Set(['rules', 'dns']);

function isMissing(page: Page, offers: Offers): boolean {
  const feature = NEEDS[page];
  if (feature === undefined || offers[feature] !== false) return false;
  return !(EDITED_IN_FILE.has(page) && offers.config === true);
}

/** The server's version as it says it, and that of the Keyway which answers for it. */
function Versions({ version, keyway }: { readonly version: string | null; readonly keyway: string | null }) {
  const words = useWords();
  if (version === null) return null;
  const own = keyway === null ? '' : `Keyway ${keyway}`;
  return (
    <span class="version" title={words('overview.version', { version })}>
      {keyway === null ? version : `${own} · ${version}`}
    </span>
  );
}

/** The pages, those greyed that the server has nothing for. */
export function Navigation() {
  const words = useWords();
  const { offers: offersStore, reach: reachStore, place, session, status: statusStore } = useWorkspace();
  const { all } = usePlaces();
  const { page } = useStore(route);
  const offers = useStore(offersStore);
  const reach = useStore(reachStore);
  const status = useStore(statusStore);
  const state = useStore(session.state);
  const list = useRef<HTMLUListElement>(null);
  // A phone's bar may be too narrow for all of them.
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [page]);
  const signedIn = state.phase === 'signedIn' && state.credential !== null;
  return (
    <aside class="side">
      <div class="line nowrap brand">
        <span class="mark" aria-hidden="true" />
        <div class="brand-text">
          <strong>Keyway</strong>
          {all.length > 1 ? <ServerChoice /> : <span>{placeName(place)}</span>}
        </div>
      </div>
      <nav aria-label={words('app.menu')}>
        <ul ref={list}>
          {PAGES.filter((name) => REACHES[name]?.includes(reach) ?? true).map((name) => {
            const missing = isMissing(name, offers) ? words(`absent.${NEEDS[name] ?? 'config'}`) : undefined;
            return (
              <li key={name}>
                <a
                  href={hrefOf(name)}
                  aria-current={page === name ? 'page' : undefined}
                  class={missing === undefined ? '' : 'missing'}
                  title={missing ?? words(`page.${name}`)}
                >
                  <Icon name={name} />
                  <span>{words(`page.${name}`)}</span>
                  {missing !== undefined && <span class="visually-hidden">({words('absent.short')})</span>}
                </a>
              </li>
            );
          })}
        </ul>
      </nav>
      <div class="line side-foot">
        <IconButton class="icon-button menu-toggle" icon="more" label={words('app.more')} popovertarget="foot-tools" />
        <div id="foot-tools" class="foot-tools" popover="auto">
          <Choices />
          <IconButton
            class="icon-button wide-only"
            icon="help"
            label={words('shortcuts.title')}
            onClick={() => shortcutsOpen.set(true)}
          />
          {signedIn && <IconButton icon="exit" label={words('login.signOut')} onClick={() => session.signOut()} />}
        </div>
        <Versions version={status?.version ?? null} keyway={place.keyway} />
      </div>
    </aside>
  );
}

/** Says since when the server is not reached, and when the page tries again. */
export function ContactBar() {
  const words = useWords();
  const { contact } = useWorkspace();
  const { reachedAt, failingSince, failure } = useStore(contact.state);
  if (failingSince === null) return null;
  const time = (value: number) => clockTime(value, words.language);
  return (
    <Notice tone="bad" urgent>
      <span>
        <strong>
          {reachedAt === null ? words('contact.never') : words('contact.lost', { time: time(reachedAt) })}
        </strong>{' '}
        {failure !== null && sentence(failure, words)} {words('contact.next')}
      </span>
      <Button kind="small" onClick={() => void contact.now()}>
        {words('contact.now')}
      </Button>
    </Notice>
  );
}
