import { STATUS_CODES } from 'node:http';
import { type KeySnapshot, MAX_U64 } from '../core/model.js';
import { encodeJson } from '../wire/json/write-json.js';
import { languageOf } from './language.js';
import { linksOf, type Offer } from './offer.js';
import { PAGE_POLICY, subscriptionPage, type Usage } from './page.js';

/** An answer with its header fields, names and values in turn and in their order. */
export interface SubscriptionAnswer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: Buffer;
  /** Bytes that it counts for against what a stranger may be sent, without its body, too. */
  readonly cost: number;
}

/** The parts of a request that decide the form of its answer. */
export interface WantedForm {
  /** Without its `?`. */
  readonly query: string;
  readonly accept: string;
  readonly acceptLanguage: string;
}

export function subscriptionAnswer(key: KeySnapshot, offer: Offer, wanted: WantedForm): SubscriptionAnswer {
  const { type, body, fields, effort = 0 } = contentOf(key, offer, wanted);
  const { counters, limitBytes } = key;
  const given = answer(200, type, Buffer.from(body), [
    ...['Cache-Control', 'no-store'],
    ...['Profile-Update-Interval', `${offer.interval}`],
    ...['Profile-Title', headerText(offer.name)],
    ...fields,
    // The servers themselves say upload=0, and everything as download.
    ...(counters === null
      ? []
      : [
          'Subscription-Userinfo',
          `upload=${counters.bytesUp}; download=${counters.bytesDown}; total=${limitBytes ?? 0}; expire=0`,
        ]),
  ]);
  return { ...given, cost: given.cost + effort };
}

/** The answer to everything else that is asked where subscriptions are: nothing tells it from a plain web server. */
export const DECOY: SubscriptionAnswer = answer(404, 'text/html', plainPage(404), []);

/** Returns the page, HTML, on which a plain web server refuses with this status. */
export function plainPage(status: number): Buffer {
  return Buffer.from(`<html><body><h1>${status} ${STATUS_CODES[status]}</h1></body></html>`);
}

/** It cannot be told now whether there is such a subscription: a client is not to take it for gone. */
export function unavailable(retryAfter: number | null): SubscriptionAnswer {
  return answer(503, 'text/plain; charset=utf-8', Buffer.alloc(0), [
    ...['Cache-Control', 'no-store'],
    ...['Retry-After', `${retryAfter ?? 5}`],
  ]);
}

function answer(status: number, type: string, body: Buffer, fields: readonly string[]): SubscriptionAnswer {
  return {
    status,
    fields: ['Content-Type', type, 'Content-Length', `${body.length}`, ...fields, 'Connection', 'close'],
    body,
    cost: body.length,
  };
}

interface Content {
  readonly type: string;
  readonly body: string;
  readonly fields: readonly string[];
  /** Bytes that the making of it counts for. */
  readonly effort?: number;
}

/** The codes of a page take some 20 ms to draw: one network has at most 8 of them drawn a second. */
const PAGE_EFFORT = 64 * 1024;

function contentOf(key: KeySnapshot, offer: Offer, { query, accept, acceptLanguage }: WantedForm): Content {
  const types = accept.toLowerCase();
  const links = linksOf(offer, key);
  const usage = usageOf(key);
  if (types.includes('application/json') || query.split('&').includes('format=json')) {
    const { name, interval } = offer;
    const body = encodeJson({
      name,
      update_interval_hours: interval,
      links: links.map(({ link }) => link),
      ...(usage === null ? {} : { usage: { used_bytes: usage.used, limit_bytes: usage.limit } }),
    });
    return { type: 'application/json', body, fields: [] };
  }
  if (types.includes('text/html')) {
    const body = subscriptionPage({ title: offer.name, user: key.name, usage, links }, languageOf(acceptLanguage));
    return { type: 'text/html; charset=utf-8', body, fields: PAGE_FIELDS, effort: PAGE_EFFORT };
  }
  return { type: 'text/plain; charset=utf-8', body: links.map(({ link }) => `${link}\n`).join(''), fields: [] };
}

const PAGE_FIELDS = [
  ...['X-Robots-Tag', 'noindex, nofollow'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  ...['Content-Security-Policy', PAGE_POLICY],
];

/** Null for a key without counters. */
function usageOf({ counters, limitBytes }: KeySnapshot): Usage | null {
  if (counters === null) return null;
  const used = counters.bytesUp + counters.bytesDown;
  return { used: used > MAX_U64 ? MAX_U64 : used, limit: limitBytes };
}

/** A text in a header field: visible ASCII and blanks as they stand, anything else in base64. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `base64:${Buffer.from(text).toString('base64')}`;
}
