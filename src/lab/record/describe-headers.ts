import { programOf } from '../../core/operation-use.js';
import type { Replacements } from '../format/replacements.js';

const TYPES = new Set(['text/plain', 'text/html', 'application/json', '*/*', 'application/x-www-form-urlencoded']);
const ORIGIN = 'https://origin.invalid';
const METHODS = /^(?:GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS)$/;
const HEADER_NAMES = new Set(['authorization', 'content-type', 'accept', '*']);

/** Returns the headers of a request that matter to this API, by lower-case name, without anything secret or unknown. */
export function requestHeaders(
  headers: ReadonlyMap<string, string>,
  replacements: Replacements,
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of headers) {
    const kept = requestHeader(name, value, replacements);
    if (kept !== null) result[name] = kept;
  }
  return result;
}

function requestHeader(name: string, value: string, replacements: Replacements): string | null {
  switch (name) {
    case 'authorization':
      return value.startsWith('Bearer ')
        ? `Bearer ${value === 'Bearer ' ? '' : replacements.secret(value.slice('Bearer '.length))}`
        : replacements.secret(value);
    case 'accept':
      return knownTypes(value);
    case 'content-type':
      return knownTypes(value) ?? 'application/octet-stream';
    case 'origin':
      return ORIGIN;
    case 'user-agent':
      return programOf(value) || null;
    case 'access-control-request-method':
      return METHODS.test(value) ? value : null;
    case 'access-control-request-headers':
      return onlyKnown(value, (each) => HEADER_NAMES.has(each.toLowerCase()));
    default:
      return null;
  }
}

/** Returns the media types of a header that mean something to this API; null if there are none. */
function knownTypes(value: string): string | null {
  return (
    onlyKnown(value, (each) => TYPES.has(each.split(';')[0]?.trim().toLowerCase() ?? '')).replace(/;[^,]*/g, '') || null
  );
}

function onlyKnown(list: string, isKnown: (each: string) => boolean): string {
  const kept = list.split(',').map((each) => each.trim());
  return kept.filter(isKnown).join(', ');
}

/** Returns the same for an answer. */
export function responseHeaders(
  headers: ReadonlyMap<string, string>,
  request: ReadonlyMap<string, string>,
  replacements: Replacements,
): Record<string, string> {
  const result: Record<string, string> = {};
  const set = (name: string, kept: (value: string) => string | null) => {
    const value = headers.get(name);
    const shown = value === undefined ? null : kept(value);
    if (shown !== null) result[name] = shown;
  };
  set('content-type', (value) => (/^[a-z]+\/[a-z0-9.+-]+(; ?charset=[a-z0-9-]+)?$/i.test(value) ? value : null));
  set('location', (value) => replacements.secret(value));
  set('allow', (value) => onlyKnown(value, (each) => METHODS.test(each.toUpperCase())));
  set('access-control-allow-origin', (value) =>
    value === '*' ? value : value === request.get('origin') ? ORIGIN : null,
  );
  set('access-control-allow-methods', (value) =>
    onlyKnown(value, (each) => METHODS.test(each.toUpperCase()) || each === '*'),
  );
  set('access-control-allow-headers', (value) => onlyKnown(value, (each) => HEADER_NAMES.has(each.toLowerCase())));
  return result;
}
