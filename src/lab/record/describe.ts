import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Target } from '../../client/call.js';
import { isJsonObject, type JsonValue, jsonIn } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { OPERATIONS, type Operation, serves } from '../../wire/operations.js';
import type { SchemaNode } from '../../wire/schema-check.js';
import type { Revision } from '../../wire/traits/revision.js';
import { decoded, matchOperation, pathOnly } from '../format/effects.js';
import type { Replacements } from '../format/replacements.js';
import type { Exchange, PathRoot, ScenarioRequest, ScenarioResponse } from '../format/scenario.js';
import { type Describing, describeEnvelope, describeValue } from './describe-data.js';
import { requestHeaders, responseHeaders } from './describe-headers.js';

/** An exchange as it passed. Header names are in lower case. */
export interface PassedExchange {
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly requestBody: Buffer;
  readonly status: number;
  readonly responseHeaders: ReadonlyMap<string, string>;
  readonly responseBody: Buffer;
}

/** The server of an exchange, and the traits of its revision. */
export interface Setting extends Pick<Target, 'apiRoot' | 'base'> {
  readonly traits: Revision;
}

/** Returns an exchange in a scenario's form, without anything secret. */
export function describeExchange(
  passed: PassedExchange,
  { apiRoot, base, traits }: Setting,
  replacements: Replacements,
): Exchange {
  const isApi = isBelow(passed.path, apiRoot);
  const path = isApi ? passed.path.slice(apiRoot.length) : passed.path;
  const operation = isApi ? (matchOperation(passed.method, path)?.operation ?? null) : null;
  // The record does not describe answers of operations that the revision does not serve.
  const known = operation !== null && serves(traits, operation) ? operation : null;
  const by = { replacements, errors: traits.errors, requestBody: passed.requestBody };
  // The answer first, so that values made by the server are already known as generated wherever else they occur.
  const response = describeAnswer(passed, operation, known === null ? null : known.answer(traits), by);
  const request: ScenarioRequest = {
    method: passed.method,
    ...placeOf(passed, { isApi, base, path }, replacements),
    ...headersMember(requestHeaders(passed.requestHeaders, replacements)),
    ...describeRequestBody(passed, known?.body.kind === 'json' ? known.body.schema(traits) : null, by),
  };
  return { operation: operation?.name ?? otherRequest(passed, isApi), request, response };
}

/** Tells whether a path, ignoring its query, is this one or below it. */
export function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`) || path.startsWith(`${root}?`);
}

function otherRequest({ method }: PassedExchange, isApi: boolean): string {
  if (method === 'OPTIONS') return 'cors';
  return isApi ? 'unmatched' : 'panel';
}

const WORDS = new Set([
  ...OPERATIONS.flatMap(({ path }) => path.split('/')),
  ...['', 'api', 'panel', 'assets', 'index.html', 'favicon.ico'],
]);

function placeOf(
  passed: PassedExchange,
  { isApi, base, path }: { readonly isApi: boolean; readonly base: string; readonly path: string },
  replacements: Replacements,
): { readonly root?: PathRoot; readonly path: string } {
  if (isApi) return { path: stripPath(path, passed.method, replacements) };
  if (base !== '' && isBelow(passed.path, base)) {
    return { root: 'base', path: stripPath(passed.path.slice(base.length), passed.method, replacements) };
  }
  return { root: 'server', path: stripPath(passed.path, passed.method, replacements) };
}

function stripPath(path: string, method: string, replacements: Replacements): string {
  const key = matchOperation(method, path)?.keySegment ?? null;
  const query = path.slice(pathOnly(path).length);
  const segments = pathOnly(path)
    .split('/')
    .map((segment) => {
      if (key !== null && segment === key) return replacements.value('key', decoded(segment));
      return WORDS.has(segment) && !segment.startsWith('{') ? segment : replacements.value('text', decoded(segment));
    });
  return (
    segments.map(asciiPath).join('/') +
    (query === '' ? '' : `?${asciiPath(replacements.value('text', query.slice(1)))}`)
  );
}

/** Percent-encodes a value that is kept in a path; a placeholder stays as it is. */
function asciiPath(segment: string): string {
  return /^<(?:key|name|text|secret|session|audit-id):\d+>$/.test(segment) ? segment : encodeURIComponent(segment);
}

function headersMember(headers: Record<string, string>): { readonly headers?: Record<string, string> } {
  return Object.keys(headers).length === 0 ? {} : { headers };
}

function describeRequestBody(
  { requestHeaders: headers }: PassedExchange,
  schema: SchemaNode | null,
  by: Describing,
): Partial<ScenarioRequest> {
  if (by.requestBody.length === 0) return {};
  const value = jsonIn(by.requestBody);
  // A body that is not JSON may contain anything; its replacement is not JSON either.
  if (value === undefined) return { text: by.replacements.value('text', by.requestBody.toString('utf8')) };
  const body = describeValue(value, schema, by);
  // A scenario's `body` is sent with its content type; one that came without is kept as its text.
  return headers.has('content-type') ? { body } : { text: writeJson(body) };
}

function describeAnswer(
  passed: PassedExchange,
  operation: Operation | null,
  schema: SchemaNode | null,
  by: Describing,
): ScenarioResponse {
  const { status } = passed;
  const headers = responseHeaders(passed.responseHeaders, passed.requestHeaders, by.replacements);
  const content = decompressed(passed);
  const isJson = (headers['content-type'] ?? '').startsWith('application/json');
  const value = isJson && content !== null ? jsonIn(content) : undefined;
  if (value !== undefined) {
    const body = describeEnvelope(value, schema, by);
    return { status, headers, body, ...unorderedOf(value, operation) };
  }
  const text = content?.toString('utf8') ?? '';
  if (text === '' && passed.method !== 'HEAD') return { status, headers, text };
  return { status, headers };
}

/** Returns the body of an answer before compression; null if that cannot be known. */
function decompressed({ responseBody, responseHeaders: headers }: PassedExchange): Buffer | null {
  try {
    switch (headers.get('content-encoding')) {
      case undefined:
      case 'identity':
        return responseBody;
      case 'gzip':
        return gunzipSync(responseBody);
      case 'br':
        return brotliDecompressSync(responseBody);
      case 'deflate':
        return inflateSync(responseBody);
      default:
        return null;
    }
  } catch {
    return null;
  }
}

/** Names the list as unordered if it has keys with equal traffic, which have no order. */
function unorderedOf(value: JsonValue, operation: Operation | null): Pick<ScenarioResponse, 'unordered'> {
  const data = isJsonObject(value) ? value.data : null;
  if (operation?.name !== 'listUsers' || !Array.isArray(data)) return {};
  const sums = data.map((each) => (isJsonObject(each) ? String(each.bytes_down) : ''));
  return new Set(sums).size < sums.length ? { unordered: ['/data'] } : {};
}
