import type { Feature } from '../api/offers.js';
import { placeName } from '../api/places.js';
import { clockTime, sentence, useWords } from '../i18n/text.js';
import { usePlaces } from '../state/places.js';
import { hrefOf, PAGES, type Page, route } from '../state/route.js';
import { useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { Choices } from './choices.js';
import { Icon } from './icon.js';
import { Notice } from './notice.js';
import { ServerChoice } from './server-choice.js';

/** What a page needs of the server. */
const NEEDS: Partial<Record<Page, Feature>> = { configuration: 'config', rules: 'rules', dns: 'dns', audit: 'audit' };

/** The pages, those greyed that the server has nothing for. */
export function Navigation() {
  const words = useWords();
  const { offers: offersStore, place, session, status: statusStore } = useWorkspace();
  const { all } = usePlaces();
  const { page } = useStore(route);
  const offers = useStore(offersStore);
  const status = useStore(statusStore);
  const state = useStore(session.state);
  const signedIn = state.phase === 'signedIn' && state.credential !== null;
  return (
    <aside class="side">
      <div class="brand">
        <span class="mark" aria-hidden="true" />
        <div class="brand-text">
          <strong>Keyway</strong>
          {all.length > 1 ? <ServerChoice /> : <span title={place.root}>{placeName(place.root)}</span>}
        </div>
      </div>
      <nav aria-label={words('app.menu')}>
        <ul>
          {PAGES.map((name) => {
            const feature = NEEDS[name];
            const missing = feature !== undefined && offers[feature] === false ? words(`absent.${feature}`) : undefined;
            return (
              <li key={name}>
                <a
                  href={hrefOf(name)}
                  aria-current={page === name ? 'page' : undefined}
                  class={missing === undefined ? '' : 'missing'}
                  title={missing}
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
      <div class="side-foot">
        <Choices />
        {signedIn && (
          <button
            type="button"
            class="icon-button"
            aria-label={words('login.signOut')}
            title={words('login.signOut')}
            onClick={() => session.signOut()}
          >
            <Icon name="exit" />
          </button>
        )}
        {status !== null && <span class="version">{status.version}</span>}
      </div>
    </aside>
  );
}

/** Says since when the server is not reached, and when the page tries again. */
export function ContactBar() {
  const words = useWords();
  const { contact } = useWorkspace();
  const { reachedAt, failingSince, failure, nextTryAt } = useStore(contact.state);
  if (failingSince === null) return null;
  const time = (value: number) => clockTime(value, words.language);
  return (
    <Notice tone="bad" urgent>
      <span>
        <strong>
          {reachedAt === null ? words('contact.never') : words('contact.lost', { time: time(reachedAt) })}
        </strong>{' '}
        {failure !== null && sentence(failure, words)}{' '}
        {nextTryAt !== null && words('contact.next', { time: time(nextTryAt) })}
      </span>
      <button type="button" class="button button-small" onClick={() => void contact.now()}>
        {words('contact.now')}
      </button>
    </Notice>
  );
}
