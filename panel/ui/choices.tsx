import { showIn, useWords } from '../i18n/text.js';
import { say } from '../state/toasts.js';
import { chooseTheme, LANGUAGES, type Language, preferences, THEMES } from '../store/preferences.js';
import { useStore } from '../store/store.js';
import { IconButton } from './button.js';

const NAMES: Readonly<Record<Language, string>> = { en: 'English', ru: 'Русский' };
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const;

/** Language and colours. */
export function Choices() {
  const words = useWords();
  const { language, theme } = useStore(preferences);
  const choose = (code: Language) => showIn(code).catch(() => say('bad', (words) => words('failure.unreachable')));
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
  return (
    <div class="line">
      <div class="segments" role="group" aria-label={words('app.language')}>
        {LANGUAGES.map((code) => (
          <button
            key={code}
            type="button"
            lang={code}
            title={NAMES[code]}
            aria-label={`${code.toUpperCase()} ${NAMES[code]}`}
            aria-pressed={code === language}
            onClick={() => choose(code)}
          >
            {code.toUpperCase()}
          </button>
        ))}
      </div>
      <IconButton
        icon={ICONS[theme]}
        label={`${words('app.theme')}: ${words(`theme.${theme}`)}`}
        onClick={() => chooseTheme(next)}
      />
    </div>
  );
}
