export type Language = 'en' | 'ru';

/** Languages that are looked at, more than anybody has. */
const MOST_LANGUAGES = 20;

/** Returns the preferred one of the two languages (RFC 9110, 12.5.4); English where neither is named. */
export function languageOf(acceptLanguage: string): Language {
  const weights = { en: 0, ru: 0 };
  for (const range of acceptLanguage.toLowerCase().split(',', MOST_LANGUAGES)) {
    const [, language, weight = '1'] =
      /^\s*(en|ru)\b[\w-]*\s*(?:;\s*q=(0(?:\.\d*)?|1(?:\.0*)?)\s*)?$/.exec(range) ?? [];
    if (language === 'en' || language === 'ru') weights[language] = Math.max(weights[language], Number(weight));
  }
  return weights.ru > weights.en ? 'ru' : 'en';
}
