import type { Static } from 'typebox';
import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { Type } from '../../wire/typebox.js';
import { readFixtureJson } from '../format/scenario.js';
import { ANYTHING, listOf, openObject, shaped, TEXT } from '../format/shape.js';
import type { ProxiedExchange } from './proxy.js';

const HEADERS = Type.Optional(
  Type.Union([listOf(openObject({ name: TEXT, value: TEXT })), Type.Null()], { expected: 'an array' }),
);
const ABSOLUTE_URL = Type.Refine(Type.String({ expected: 'an absolute URL' }), (text) => URL.canParse(text));
const ENTRY = openObject({
  request: openObject({ method: TEXT, url: ABSOLUTE_URL, headers: HEADERS, postData: Type.Optional(ANYTHING) }),
  response: openObject({ status: ANYTHING, headers: HEADERS, content: Type.Optional(ANYTHING) }),
});
const ARCHIVE = openObject({ log: openObject({ entries: listOf(ENTRY) }) });

/**
 * Returns the exchanges with one server in an HTTP archive (HAR 1.2, "log.entries"), in order. Entries of other
 * servers, and those without an answer, are left out. Throws `ShapeError`, which names the file, the JSON path and what
 * was expected.
 */
export function readHar(content: string, file: string, origin: string): readonly ProxiedExchange[] {
  const { log } = shaped(ARCHIVE, readFixtureJson(content, file), { file, path: '' });
  return log.entries.flatMap(({ request, response }, sequence) => {
    const url = new URL(request.url);
    const status = typeof response.status === 'bigint' ? Number(response.status) : 0;
    if (url.origin !== origin || status === 0) return [];
    const exchange: ProxiedExchange = {
      sequence,
      client: 'browser',
      method: request.method,
      path: url.pathname + url.search,
      requestHeaders: headersOf(request),
      requestBody: Buffer.from(textIn(request.postData)),
      status,
      responseHeaders: withoutEncoding(headersOf(response)),
      responseBody: contentOf(response.content),
    };
    return [exchange];
  });
}

function headersOf({ headers }: Static<typeof ENTRY>['request' | 'response']): ReadonlyMap<string, string> {
  const pairs = (headers ?? []).map(({ name, value }) => [name.toLowerCase(), value] as const);
  return new Map(pairs.filter(([name]) => !name.startsWith(':')));
}

/** A browser saves the content as it was before compression. */
function withoutEncoding(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...headers].filter(([name]) => name !== 'content-encoding'));
}

function textIn(value: JsonValue | undefined): string {
  return isJsonObject(value) && typeof value.text === 'string' ? value.text : '';
}

function contentOf(value: JsonValue | undefined): Buffer {
  const encoding = isJsonObject(value) && value.encoding === 'base64' ? 'base64' : 'utf8';
  return Buffer.from(textIn(value), encoding);
}
