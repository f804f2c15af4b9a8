import type { JsonValue } from '../wire/json/json.js';
import type { ProxiedExchange } from './proxy.js';
import { readFixtureJson } from './scenario.js';
import { asObject, below, type Check, listOf, type Place, ShapeError, text } from './shape.js';

/**
 * The exchanges with one server in an HTTP archive (HAR 1.2, "log.entries"), in their order. Entries of other servers, and
 * those without an answer, are left out. Throws `ShapeError`, which names the file, the JSON path and what was expected.
 */
export function readHar(content: string, file: string, origin: string): readonly ProxiedExchange[] {
  const root = asObject(readFixtureJson(content, file), { file, path: '' });
  const log = asObject(member(root, 'log', { file, path: '' }), { file, path: '/log' });
  const entries = listOf(entry)(member(log, 'entries', { file, path: '/log' }), { file, path: '/log/entries' });
  return entries.flatMap((each, index) => {
    if (each.origin !== origin || each.status === 0) return [];
    return [{ ...each, sequence: index, client: 'browser' }];
  });
}

type Members = Readonly<Record<string, JsonValue>>;

function member(source: Members, name: string, place: Place): JsonValue {
  const value = source[name];
  if (value === undefined) throw new ShapeError(place, `a member ${name}`);
  return value;
}

interface HarEntry extends Omit<ProxiedExchange, 'sequence' | 'client'> {
  readonly origin: string;
}

const entry: Check<HarEntry> = (value, place) => {
  const source = asObject(value, place);
  const request = asObject(member(source, 'request', place), below(place, 'request'));
  const response = asObject(member(source, 'response', place), below(place, 'response'));
  const asked = below(place, 'request');
  const url = text(member(request, 'url', asked), below(asked, 'url'));
  if (!URL.canParse(url)) throw new ShapeError(below(asked, 'url'), 'an absolute URL');
  const { origin, pathname, search } = new URL(url);
  const status = member(response, 'status', below(place, 'response'));
  return {
    origin,
    method: text(member(request, 'method', asked), below(asked, 'method')),
    path: pathname + search,
    requestHeaders: headersOf(request.headers, below(asked, 'headers')),
    requestBody: Buffer.from(textIn(request.postData)),
    status: typeof status === 'bigint' ? Number(status) : 0,
    responseHeaders: withoutEncoding(headersOf(response.headers, below(below(place, 'response'), 'headers'))),
    responseBody: contentOf(response.content),
  };
};

function headersOf(value: JsonValue | undefined, place: Place): ReadonlyMap<string, string> {
  const pairs = listOf((each, at) => {
    const header = asObject(each, at);
    const name = text(member(header, 'name', at), below(at, 'name')).toLowerCase();
    return [name, text(member(header, 'value', at), below(at, 'value'))] as const;
  })(value ?? [], place);
  return new Map(pairs.filter(([name]) => !name.startsWith(':')));
}

/** A browser saves the content as it was before compression. */
function withoutEncoding(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...headers].filter(([name]) => name !== 'content-encoding'));
}

function textIn(value: JsonValue | undefined): string {
  return isObject(value) && typeof value.text === 'string' ? value.text : '';
}

function contentOf(value: JsonValue | undefined): Buffer {
  const encoding = isObject(value) && value.encoding === 'base64' ? 'base64' : 'utf8';
  return Buffer.from(textIn(value), encoding);
}

function isObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
