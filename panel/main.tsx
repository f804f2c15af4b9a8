import { render } from 'preact';
import { findPlaces } from './api/places.js';
import { App } from './app.js';
import { fetchPreferredTexts } from './i18n/text.js';
import { wouldLose } from './state/drafts.js';
import { applyPreferences, readPreferences } from './store/preferences.js';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/messages.css';
import './styles/dialog.css';
import './styles/batches.css';
import './styles/frame.css';
import './styles/list.css';
import './styles/key.css';
import './styles/overview.css';
import './styles/forms.css';
import './styles/entries.css';
import './styles/print.css';

/** The folder that the page came from, whatever path the index was asked for by: the scripts stand there, or in its `assets/`. */
function pageBase(): string {
  return import.meta.url.replace(/(?:assets\/)?[^/]*$/, '');
}

/** Draws the page, once its texts are there. */
async function start(root: HTMLElement): Promise<void> {
  const base = pageBase();
  const asked = findPlaces(base);
  readPreferences();
  try {
    await fetchPreferredTexts();
  } catch {
    // There is no table to take this sentence from.
    root.textContent = 'The page could not be loaded whole: reload it. Страница загрузилась не полностью: обновите её.';
    return;
  }
  applyPreferences();
  window.addEventListener('beforeunload', (event) => wouldLose() && event.preventDefault());
  render(<App places={await asked} memory={`keyway:place:${base}`} />, root);
}

const root = document.getElementById('app');
if (root !== null) await start(root);
