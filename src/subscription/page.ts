import { hash } from 'node:crypto';
import type { OfferedLink } from './offer.js';
import { qrSvg } from './qr.js';

export type Language = 'en' | 'ru';

/** The usage of a key against its limit, in bytes. */
export interface Usage {
  readonly used: bigint;
  /** Null for no limit. */
  readonly limit: bigint | null;
}

export interface PageFacts {
  readonly title: string;
  /** The key's name. */
  readonly user: string | null;
  /** Null where nothing is counted. */
  readonly usage: Usage | null;
  readonly links: readonly OfferedLink[];
}

interface Words {
  readonly used: string;
  readonly left: string;
  readonly noLimit: string;
  readonly ofAll: (limit: string) => string;
  readonly open: string;
  readonly qr: (label: string) => string;
  readonly hint: string;
  /** The units of 1, 1024, 1024² … bytes. */
  readonly units: readonly string[];
}

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    used: 'Used',
    left: 'Left',
    noLimit: 'no limit',
    ofAll: (limit) => `of ${limit}`,
    open: 'Open in the app',
    qr: (label) => `QR code of the ${label} link`,
    hint: 'Scan the code with the app, or copy the link. To have it renewed by itself, give the app the address of this page.',
    units: ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'],
  },
  ru: {
    used: 'Использовано',
    left: 'Осталось',
    noLimit: 'без ограничения',
    ofAll: (limit) => `из ${limit}`,
    open: 'Открыть в приложении',
    qr: (label) => `QR-код ссылки ${label}`,
    hint: 'Отсканируйте код приложением или скопируйте ссылку. Чтобы она обновлялась сама, добавьте в приложение адрес этой страницы.',
    units: ['Б', 'КиБ', 'МиБ', 'ГиБ', 'ТиБ', 'ПиБ', 'ЭиБ'],
  },
};

const STYLE = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:34rem;padding:1rem}
h1{font-size:1.4rem;margin:0;overflow-wrap:anywhere}
p{margin:.5rem 0}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem}
dd{margin:0;font-weight:600}
svg{display:block;width:15rem;max-width:100%;margin:.5rem 0}
code{display:block;overflow-wrap:anywhere;user-select:all}`;

/** The page runs no script, loads nothing, and stands in no other page; its one style is known by its hash. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function subscriptionPage({ title, user, usage, links }: PageFacts, language: Language): string {
  const words = WORDS[language];
  return [
    '<!doctype html>',
    `<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body><main>`,
    `<h1>${escaped(title)}</h1>`,
    ...(user === null || user === '' ? [] : [`<p>${escaped(user)}</p>`]),
    ...(usage === null ? [] : [usageList(usage, words)]),
    ...links.map((link) => linkSection(link, words)),
    `<p>${escaped(words.hint)}</p>`,
    '</main></body></html>\n',
  ].join('\n');
}

function usageList({ used, limit }: Usage, { units, ...words }: Words): string {
  const left =
    limit === null
      ? words.noLimit
      : `${sizeText(limit > used ? limit - used : 0n, units)} ${words.ofAll(sizeText(limit, units))}`;
  return `<dl><dt>${words.used}</dt><dd>${sizeText(used, units)}</dd><dt>${words.left}</dt><dd>${left}</dd></dl>`;
}

function linkSection({ label, link }: OfferedLink, words: Words): string {
  const text = escaped(link);
  return `<section><h2>${label}</h2>${qrImage(link, words.qr(label))}<p><a href="${text}">${words.open}</a></p><code>${text}</code></section>`;
}

/** Bytes in the largest unit of which there is one, with one decimal place. */
function sizeText(bytes: bigint, units: readonly string[]): string {
  let unit = 0;
  while (unit < units.length - 1 && bytes >> BigInt(10 * (unit + 1)) > 0n) unit += 1;
  const tenths = (bytes * 10n) >> BigInt(10 * unit);
  const rest = tenths % 10n;
  return `${tenths / 10n}${rest === 0n ? '' : `.${rest}`} ${units[unit]}`;
}

/** A longer link makes a code that no camera reads. */
const LONGEST_IN_CODE = 1_000;

/** The code of a text as SVG, its dark squares of one line in one stroke; nothing for a text that is too long. */
function qrImage(text: string, label: string): string {
  if (text.length > LONGEST_IN_CODE) return '';
  return qrSvg(text, `role="img" aria-label="${escaped(label)}"`);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (one) => ENTITIES[one] ?? one);
}

/** Languages that are looked at: nobody has so many. */
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
