import { render } from 'preact';
import { findPlaces } from './api/places.js';
import { App } from './app.js';
import { fetchPreferredTexts } from './i18n/text.js';
import { askBeforeLeaving } from './state/drafts.js';
import { applyPreferences } from './store/preferences.js';
import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/keys.css';
import './styles/pages.css';

/** The folder that the page came from, whatever path the index was asked for by: the scripts stand there, or in its `assets/`. */
function pageBase(): string {
  return import.meta.url.replace(/(?:assets\/)?[^/]*$/, '');
}

await fetchPreferredTexts();
applyPreferences();
askBeforeLeaving();
const base = pageBase();
const root = document.getElementById('app');
if (root !== null) render(<App places={await findPlaces(base)} memory={`keyway:place:${base}`} />, root);
