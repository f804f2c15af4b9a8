import { useMemo } from 'preact/hooks';
import { ApiFailure } from '../api/failure.js';
import { keepLanguage, LANGUAGES, type Language, preferences } from '../store/preferences.js';
import { useStore } from '../store/store.js';
import type { en } from './en.js';
import { fill, type Message, type Values } from './message.js';

type MessageName = keyof typeof en;

type Table = Readonly<Record<MessageName, Message>>;

/** Each language's texts are a file of their own, which only those fetch who read it. */
const FETCHED: Readonly<Record<Language, () => Promise<Table>>> = {
  en: async () => (await import('./en.js')).en,
  ru: async () => (await import('./ru.js')).ru,
};

const tables = new Map<Language, Table>();
let wanted: Language | null = null;

async function fetchTable(language: Language): Promise<void> {
  if (!tables.has(language)) tables.set(language, await FETCHED[language]());
}

/**
 * Fetches the texts of the preferred language; where they cannot be had the page begins in another, and the preference stays.
 * Rejects where there are none at all.
 */
export async function fetchPreferredTexts(): Promise<void> {
  const { language: preferred } = preferences.get();
  for (const language of [preferred, ...LANGUAGES.filter((other) => other !== preferred)]) {
    try {
      await fetchTable(language);
      preferences.patch({ language });
      return;
    } catch {
      // The next language may be there.
    }
  }
  throw new Error('no texts');
}

/** Keeps the choice of a language and shows the page in it. Rejects, and shows it as before, where its texts cannot be fetched. */
export async function showIn(language: Language): Promise<void> {
  keepLanguage(language);
  wanted = language;
  await fetchTable(language);
  // Another one may have been chosen while it was fetched.
  if (wanted === language) preferences.patch({ language });
}

/** Tells a text by its name, which stands in the call itself: a build finds it there, and puts a shorter one in its place. */
export interface Words {
  readonly language: Language;
  (name: MessageName, values?: Values): string;
}

export function wordsIn(language: Language): Words {
  const table = tables.get(language);
  // The page is drawn with fetched texts alone.
  return Object.assign((name: MessageName, values?: Values) => fill(table?.[name] ?? '', language, values), {
    language,
  });
}

/** The texts in the language that the viewer chose. */
export function useWords(): Words {
  const language = useStore(preferences, (chosen) => chosen.language);
  return useMemo(() => wordsIn(language), [language]);
}

/** A failure as a sentence for the viewer. */
export function sentence(error: unknown, words: Words): string {
  if (!(error instanceof ApiFailure)) {
    return words('failure.unknown', { detail: error instanceof Error ? error.message : String(error) });
  }
  const { kind, detail, status } = error;
  if (kind === 'garbled' && detail !== '') return words('failure.garbledAt', { place: detail });
  if (kind === 'broken') return `${words('failure.broken', { status: String(status) })} ${detail}`.trim();
  return words(`failure.${kind}`, { detail: detail === '' ? String(status) : detail });
}

/** The viewer's own variety of a language (`en-GB`), for how times are written. Browsers may name theirs in ways that are no tag. */
function localeOf(language: Language): string {
  return navigator.languages.find((tag) => tag.toLowerCase().startsWith(language) && isTag(tag)) ?? language;
}

function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

function timeText(time: number, language: Language, form: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(localeOf(language), form).format(time);
}

const HOURS = { hour: '2-digit', minute: '2-digit' } as const;

/** Hours, minutes and seconds in the viewer's zone. */
export const clockTime = (time: number, language: Language) =>
  timeText(time, language, { ...HOURS, second: '2-digit' });

/** Hours and minutes in the viewer's zone. */
export const dayTime = (time: number, language: Language) => timeText(time, language, HOURS);

/** Date and time in the viewer's zone, with its name. */
export const fullTime = (time: number, language: Language) =>
  timeText(time, language, { dateStyle: 'medium', timeStyle: 'long' });

/** Seconds from which on a date says more than how long ago it was. */
const LONG_AGO = 30 * 86_400;

/** How long ago a time was, or how soon it will be; the date of one that is far away. */
export function ageText(time: number, now: number, words: Words): string {
  const seconds = Math.abs(now - time) / 1000;
  if (seconds < 60) return words('time.now');
  if (seconds > LONG_AGO) return timeText(time, words.language, { dateStyle: 'medium' });
  const unit = seconds < 3_600 ? 'minutes' : seconds < 86_400 ? 'hours' : 'days';
  const n = Math.floor(seconds / { minutes: 60, hours: 3_600, days: 86_400 }[unit]);
  return words(time < now ? 'time.ago' : 'time.ahead', { time: words(`time.${unit}`, { n }) });
}

/** A duration by its two largest parts. */
export function duration(seconds: number, words: Words): string {
  const parts = [
    { n: Math.floor(seconds / 86_400), unit: 'days' },
    { n: Math.floor(seconds / 3_600) % 24, unit: 'hours' },
    { n: Math.floor(seconds / 60) % 60, unit: 'minutes' },
    { n: Math.floor(seconds) % 60, unit: 'seconds' },
  ] as const;
  const first = parts.findIndex(({ n }) => n > 0);
  if (first < 0) return words('time.seconds', { n: 0 });
  return parts
    .slice(first, first + 2)
    .filter(({ n }) => n > 0)
    .map(({ n, unit }) => words(`time.${unit}`, { n }))
    .join(' ');
}
