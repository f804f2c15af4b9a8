import { hash } from 'node:crypto';
import { formatLimit, formatSize, isDecimal } from '../text/sizes.js';
import type { Language } from './language.js';
import type { OfferedLink } from './offer.js';
import { qrSvg } from './qr.js';

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
  readonly used: (size: string) => string;
  readonly left: (size: string, limit: string) => string;
  readonly noLimit: string;
  readonly usedUp: string;
  readonly open: string;
  readonly copy: string;
  readonly select: string;
  readonly qr: (label: string) => string;
  readonly other: (label: string) => string;
  readonly noLink: string;
  readonly steps: string;
  readonly step: (hasCode: boolean) => readonly string[];
  readonly renewal: string;
}

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    used: (size) => `${size} used`,
    left: (size, limit) => `${size} left of ${limit}`,
    noLimit: 'no limit',
    usedUp: 'The limit is used up. Ask the person who gave you this page for more.',
    open: 'Open in the app',
    copy: 'Copy link',
    select: 'A touch or a click selects the whole link.',
    qr: (label) => `QR code of the ${label} link`,
    other: (label) => `If that does not connect: ${label}`,
    noLink: 'There is no link just now. Ask the person who gave you this page.',
    steps: 'How to connect',
    step: (hasCode) => [
      'Install the app on your device.',
      `Press “Open in the app”. For another device, ${hasCode ? 'scan the code with its app, or ' : ''}paste the link there.`,
      'Turn the connection on in the app.',
    ],
    renewal: 'Add the address of this page to the app, and it renews the link by itself.',
  },
  ru: {
    used: (size) => `Использовано ${size}`,
    left: (size, limit) => `Осталось ${size} из ${limit}`,
    noLimit: 'без ограничения',
    usedUp: 'Лимит исчерпан. Попросите ещё у того, кто дал вам эту страницу.',
    open: 'Открыть в приложении',
    copy: 'Скопировать ссылку',
    select: 'Касание или щелчок выделяет всю ссылку.',
    qr: (label) => `QR-код ссылки ${label}`,
    other: (label) => `Если не подключается: ${label}`,
    noLink: 'Сейчас ссылки нет. Обратитесь к тому, кто дал вам эту страницу.',
    steps: 'Как подключиться',
    step: (hasCode) => [
      'Установите приложение на своё устройство.',
      `Нажмите «Открыть в приложении». Для другого устройства ${hasCode ? 'отсканируйте код его приложением или ' : ''}вставьте туда ссылку.`,
      'Включите соединение в приложении.',
    ],
    renewal: 'Добавьте в приложение адрес этой страницы, и оно будет обновлять ссылку само.',
  },
};

const STYLE = `:root{color-scheme:light dark;--ground:#f7f8f9;--card:#fff;--sunken:#f1f3f5;--line:#e1e6ea;--text:#151c23;--muted:#57636e;--accent:#0b6b62;--on:#fff;--warn:#855000;--bad:#b3261e;background:var(--ground);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
@media(prefers-color-scheme:dark){:root{--ground:#0c1013;--card:#12171b;--sunken:#171d22;--line:#262f36;--text:#e8ecef;--muted:#9daab5;--accent:#57cdbf;--on:#06211e;--warn:#f0b357;--bad:#ff9b93}}
*{box-sizing:border-box;margin:0}
body{padding:1rem}
main,details[open]{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem;align-content:start}
main{max-width:27rem;margin:0 auto;padding:1.5rem;border:1px solid var(--line);border-radius:1rem;background:var(--card)}
h1{font-size:1.4rem;line-height:1.25;overflow-wrap:anywhere}
h2{font-size:1rem}
header p{color:var(--muted);overflow-wrap:anywhere}
.usage p{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem;font-weight:600}
.usage .alarm{color:var(--bad)}
.bar{display:block;width:100%;height:.5rem;margin:.25rem 0;border-radius:.25rem;background:var(--line)}
.bar rect{fill:var(--accent)}
.near rect{fill:var(--warn)}
.over rect{fill:var(--bad)}
.code{display:block;width:100%;border-radius:.75rem}
details .code{max-width:16rem}
.open{padding:.75rem 1rem;border-radius:.75rem;background:var(--accent);color:var(--on);font-weight:600;text-align:center;text-decoration:none}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code{display:block;margin:.25rem 0;padding:.75rem;border:1px solid var(--line);border-radius:.75rem;background:var(--sunken);overflow-x:auto;white-space:nowrap;font:.85rem ui-monospace,Menlo,Consolas,monospace;-webkit-user-select:all;user-select:all}
small,summary{color:var(--muted)}
small{display:block;margin-top:.5rem}
ol{padding-left:1.25rem}
li{padding-left:.25rem;margin-top:.25rem}
summary{cursor:pointer}
@media(min-width:52rem){body{padding:3rem 1rem}.wide{max-width:52rem;padding:2.5rem;grid-template-columns:20rem minmax(0,1fr);gap:1rem 2.5rem}.wide>*{grid-column:2}.wide>.code{grid-area:1/1/span 6}}`;

/** The page runs no script, loads nothing, and stands in no other page; its one style is known by its hash. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Draws the page of a key for its user. The first link is the one to try first; the others are folded. */
export function subscriptionPage({ title, user, usage, links }: PageFacts, language: Language): string {
  const words = WORDS[language];
  const [first, ...others] = withCodes(links, words);
  return [
    '<!doctype html>',
    `<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body><main${first?.code ? ' class="wide"' : ''}>`,
    `<header><h1>${escaped(title)}</h1>${user === null || user === '' ? '' : `<p>${escaped(user)}</p>`}</header>`,
    ...(usage === null ? [] : [usageSection(usage, words, language)]),
    ...(first === undefined
      ? [`<p>${words.noLink}</p>`]
      : [linkParts(first, words), stepsSection(words, first.code !== '')]),
    ...others.map(
      (link) => `<details><summary>${words.other(link.label)}</summary>${linkParts(link, words)}</details>`,
    ),
    '</main></body></html>\n',
  ].join('\n');
}

/** The part of a limit, in per cent, from which little is left. */
const NEAR = 90;

function usageSection({ used, limit }: Usage, words: Words, language: Language): string {
  const size = (bytes: bigint) => formatSize(bytes, language, limit !== null && isDecimal(limit));
  const line = (left: string) => `<p><span>${words.used(size(used))}</span> <span>${left}</span></p>`;
  if (limit === null) return `<section class="usage">${line(words.noLimit)}</section>`;
  const isOver = used >= limit;
  const percent = isOver ? 100 : Number((used * 100n) / limit);
  const tone = isOver ? ' over' : percent >= NEAR ? ' near' : '';
  return [
    `<section class="usage">${line(words.left(size(isOver ? 0n : limit - used), formatLimit(limit, language)))}`,
    `<svg class="bar${tone}" aria-hidden="true"><rect width="${percent}%" height="100%" rx="4"/></svg>`,
    `${isOver ? `<p class="alarm">${words.usedUp}</p>` : ''}</section>`,
  ].join('');
}

/** A link to press, to scan, and to copy: one touch selects its text, which stays on one line. */
function linkParts({ link, code }: CodedLink, words: Words): string {
  const text = escaped(link);
  return [
    `<a class="open" href="${text}">${words.open}</a>${code}`,
    `<div><h2>${words.copy}</h2><code tabindex="0">${text}</code><small>${words.select}</small></div>`,
  ].join('\n');
}

function stepsSection({ steps, step, renewal }: Words, hasCode: boolean): string {
  const items = step(hasCode).map((one) => `<li>${one}</li>`);
  return `<section><h2>${steps}</h2><ol>${items.join('')}</ol><small>${renewal}</small></section>`;
}

interface CodedLink extends OfferedLink {
  /** An SVG; empty for none. */
  readonly code: string;
}

/** Characters that the codes of a page hold together, so that a camera reads each and the page stays below 20 kB. */
const MOST_IN_CODES = 500;

/** Adds the code of each link, in their order, as long as there is room; an empty one to the others. */
function withCodes(links: readonly OfferedLink[], words: Words): readonly CodedLink[] {
  let room = MOST_IN_CODES;
  return links.map((offered) => {
    const { label, link } = offered;
    if (link.length > room) return { ...offered, code: '' };
    room -= link.length;
    return { ...offered, code: qrSvg(link, `class="code" role="img" aria-label="${escaped(words.qr(label))}"`) };
  });
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
