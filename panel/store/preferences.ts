import { keptForGood } from './kept.js';
import { createStore, type Store } from './store.js';

export const LANGUAGES = ['en', 'ru'] as const;
export type Language = (typeof LANGUAGES)[number];
export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export interface Preferences {
  readonly language: Language;
  readonly theme: Theme;
}

const LANGUAGE = 'keyway:language';
const THEME = 'keyway:theme';

function preferredLanguage(): Language {
  const wanted = [keptForGood.read(LANGUAGE) ?? '', ...navigator.languages].map((tag) => tag.slice(0, 2).toLowerCase());
  return wanted.flatMap((tag) => LANGUAGES.filter((known) => known === tag))[0] ?? 'en';
}

export const preferences: Store<Preferences> = createStore<Preferences>({ language: 'en', theme: 'auto' });

/** Takes what was chosen at an earlier visit, or by the browser. */
export function readPreferences(): void {
  const theme = THEMES.find((name) => name === keptForGood.read(THEME)) ?? 'auto';
  preferences.set({ language: preferredLanguage(), theme });
}

/** Keeps the choice for the next visits; the page shows what `preferences` says. */
export function keepLanguage(language: Language): void {
  keptForGood.write(LANGUAGE, language);
}

export function chooseTheme(theme: Theme): void {
  keptForGood.write(THEME, theme === 'auto' ? null : theme);
  preferences.patch({ theme });
}

/** Keeps the document's language and colours as chosen, from now on. */
export function applyPreferences(): void {
  const apply = () => {
    const { language, theme } = preferences.get();
    document.documentElement.lang = language;
    document.documentElement.style.colorScheme = theme === 'auto' ? 'light dark' : theme;
  };
  apply();
  preferences.subscribe(apply);
}
