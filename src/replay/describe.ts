import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { ERROR_TABLE } from '../wire/errors.js';
import { isJsonObject, type JsonObject, JsonSyntaxError, type JsonValue, parseJson } from '../wire/json.js';
import { OPERATIONS, type OperationName } from '../wire/operations.js';
import type { Target } from './create-call.js';
import { matchOperation, pathOnly } from './effects.js';
import type { Replacements } from './replacements.js';
import type { Exchange, PathRoot, ScenarioRequest, ScenarioResponse } from './scenario.js';
import { stripJson } from './strip.js';

/** An exchange as it passed. Header names in lower case. */
export interface PassedExchange {
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly requestBody: Buffer;
  readonly status: number;
  readonly responseHeaders: ReadonlyMap<string, string>;
  readonly responseBody: Buffer;
}

/** An exchange as a scenario writes it, without anything secret. */
export function describeExchange(
  passed: PassedExchange,
  { apiRoot, base }: Pick<Target, 'apiRoot' | 'base'>,
  replacements: Replacements,
): Exchange {
  const isApi = isBelow(passed.path, apiRoot);
  const path = isApi ? passed.path.slice(apiRoot.length) : passed.path;
  const operation = isApi ? (matchOperation(passed.method, path)?.operation.name ?? null) : null;
  // The answer first: what the server made is known by then as generated, wherever else it stands.
  const response = describeAnswer(passed, operation, replacements);
  const request: ScenarioRequest = {
    method: passed.method,
    ...placeOf(passed, { isApi, base, path }, replacements),
    ...headersMember(requestHeaders(passed.requestHeaders, replacements)),
    ...describeRequestBody(passed, replacements),
  };
  return { operation: operation ?? besides(passed, isApi), request, response };
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`) || path.startsWith(`${root}?`);
}

function besides({ method }: PassedExchange, isApi: boolean): string {
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
    const rest = passed.path.slice(base.length);
    return {
      root: 'base',
      path: isFile(passed, replacements) ? pathOnly(rest) : stripPath(rest, passed.method, replacements),
    };
  }
  return { root: 'server', path: stripPath(passed.path, passed.method, replacements) };
}

const FILE_TYPE = /^(?:text\/(?:css|javascript)|application\/(?:javascript|wasm|manifest\+json)|image\/|font\/)/;

/** A file of the panel that the server really has: its name is the build's, known to everybody, unless it passed elsewhere. */
function isFile({ path, status, responseHeaders }: PassedExchange, replacements: Replacements): boolean {
  const isStatic = status === 200 && FILE_TYPE.test(responseHeaders.get('content-type') ?? '');
  return (
    isStatic &&
    !pathOnly(path)
      .split('/')
      .some((segment) => replacements.isKnown(decodedOr(segment)))
  );
}

function stripPath(path: string, method: string, replacements: Replacements): string {
  const key = matchOperation(method, path)?.keySegment ?? null;
  const query = path.slice(pathOnly(path).length);
  const segments = pathOnly(path)
    .split('/')
    .map((segment) => {
      if (key !== null && segment === key) return replacements.value('key', decodedOr(segment));
      return WORDS.has(segment) && !segment.startsWith('{') ? segment : replacements.value('text', decodedOr(segment));
    });
  return (
    segments.map(asciiPath).join('/') +
    (query === '' ? '' : `?${asciiPath(replacements.value('text', query.slice(1)))}`)
  );
}

/** A value that is kept goes into the path percent-encoded; a placeholder as it is. */
function asciiPath(segment: string): string {
  return /^<(?:key|name|text|secret|session|audit-id):\d+>$/.test(segment) ? segment : encodeURIComponent(segment);
}

function decodedOr(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const TYPES = new Set(['text/plain', 'text/html', 'application/json', '*/*', 'application/x-www-form-urlencoded']);
const ORIGIN = 'https://origin.invalid';
const METHODS = /^(?:GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS)$/;
const HEADER_NAMES = new Set(['authorization', 'content-type', 'accept', '*']);

function requestHeaders(headers: ReadonlyMap<string, string>, replacements: Replacements): Record<string, string> {
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
    case 'access-control-request-method':
      return METHODS.test(value) ? value : null;
    case 'access-control-request-headers':
      return onlyKnown(value, (each) => HEADER_NAMES.has(each.toLowerCase()));
    default:
      return null;
  }
}

/** The media types of a header that say something to this API; null for none. */
function knownTypes(value: string): string | null {
  return (
    onlyKnown(value, (each) => TYPES.has(each.split(';')[0]?.trim().toLowerCase() ?? '')).replace(/;[^,]*/g, '') || null
  );
}

function onlyKnown(list: string, isKnown: (each: string) => boolean): string {
  const kept = list.split(',').map((each) => each.trim());
  return kept.filter(isKnown).join(', ');
}

function responseHeaders(
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

function headersMember(headers: Record<string, string>): { readonly headers?: Record<string, string> } {
  return Object.keys(headers).length === 0 ? {} : { headers };
}

function describeRequestBody(passed: PassedExchange, replacements: Replacements): Partial<ScenarioRequest> {
  if (passed.requestBody.length === 0) return {};
  const value = parsed(passed.requestBody);
  // A body that is no JSON may hold anything; what stands in for it is no JSON either.
  if (value === undefined) return { text: replacements.value('text', passed.requestBody.toString('utf8')) };
  return { body: stripJson(value, replacements) };
}

function describeAnswer(
  passed: PassedExchange,
  operation: OperationName | null,
  replacements: Replacements,
): ScenarioResponse {
  const { status } = passed;
  const headers = responseHeaders(passed.responseHeaders, passed.requestHeaders, replacements);
  const content = decompressed(passed);
  const isJson = (headers['content-type'] ?? '').startsWith('application/json');
  const value = isJson && content !== null ? parsed(content) : undefined;
  if (value !== undefined) {
    const body = describeEnvelope(value, operation, passed, replacements);
    return { status, headers, body, ...unorderedOf(value, operation) };
  }
  const text = content?.toString('utf8') ?? '';
  if (text === '' && passed.method !== 'HEAD') return { status, headers, text };
  return { status, headers };
}

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

function describeEnvelope(
  value: JsonValue,
  operation: OperationName | null,
  passed: PassedExchange,
  replacements: Replacements,
): JsonValue {
  if (!isJsonObject(value)) return stripJson(value, replacements);
  const result: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === 'error' && typeof member === 'string') result.error = stripError(member, replacements);
    else if (name === 'data') result.data = describeData(member, operation, passed, replacements);
    else if (name === 'ok') result.ok = member;
    else Object.assign(result, stripJson({ [name]: member }, replacements));
  }
  return result;
}

const FIXED_ERRORS = Object.values(ERROR_TABLE).flatMap(({ text, except, withDetail }) =>
  withDetail === true ? [] : [text, ...Object.values(except ?? {}).map((each) => each.text)],
);
const OPEN_ERRORS = Object.values(ERROR_TABLE).flatMap(({ text, withDetail }) =>
  withDetail === true && text.startsWith('Failed') ? [text] : [],
);

function stripError(text: string, replacements: Replacements): string {
  if (FIXED_ERRORS.includes(text)) return text;
  const beginning = OPEN_ERRORS.find((each) => text.startsWith(each));
  return beginning === undefined ? replacements.value('text', text) : `<text starting:${beginning}>`;
}

const CONFIRMATIONS = new Set(['User updated', 'User removed']);

function describeData(
  data: JsonValue,
  operation: OperationName | null,
  passed: PassedExchange,
  replacements: Replacements,
): JsonValue {
  if (typeof data === 'string') return describeText(data, operation, passed, replacements);
  switch (operation) {
    case 'login':
      return replaceMember(data, 'token', (token) => replacements.generated('session', token), replacements);
    case 'bulkCreateUsers':
      return Array.isArray(data)
        ? data.map((key) =>
            typeof key === 'string' ? replacements.generated('key', key) : stripJson(key, replacements),
          )
        : stripJson(data, replacements);
    case 'getStatus':
      return isJsonObject(data) ? { ...describeStatus(data, replacements) } : stripJson(data, replacements);
    case 'listAudit':
      return Array.isArray(data)
        ? data.map((entry) => describeAuditEntry(entry, replacements))
        : stripJson(data, replacements);
    default:
      return stripJson(data, replacements);
  }
}

function describeText(
  text: string,
  operation: OperationName | null,
  passed: PassedExchange,
  replacements: Replacements,
): string {
  if (CONFIRMATIONS.has(text)) return text;
  if (operation === 'subscribe') return describeLink(text, replacements);
  if (operation !== 'createUser') return replacements.value('text', text);
  const body = parsed(passed.requestBody);
  const isNamed = body !== undefined && isJsonObject(body) && body.access_key === text;
  return isNamed ? replacements.value('key', text) : replacements.generated('key', text);
}

const KNOWN_QUERY = /^(?:\?(?:type=udp|owndns=true)(?:&(?:type=udp|owndns=true))*)?$/;

/** The parts of a share link (spec: Subscription, rule 2), each on its own. */
function describeLink(link: string, replacements: Replacements): string {
  const [whole, scheme = '', key = '', address = '', query = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/(.*)@([^@?]*)(\?.*)?$/is.exec(link) ?? [];
  if (whole === undefined) return replacements.value('text', link);
  const shownScheme = scheme === 'ostp' ? scheme : replacements.value('text', scheme);
  const shownQuery = KNOWN_QUERY.test(query) ? query : replacements.value('text', query);
  const shown = [replacements.value('key', key), replacements.value('text', address)];
  return `${shownScheme}://${shown.join('@')}${shownQuery}`;
}

function describeStatus(data: JsonObject, replacements: Replacements): JsonObject {
  const { version, uptime_seconds, ...rest } = data;
  return {
    ...(version === undefined ? {} : { version: typeof version === 'string' ? '<version>' : version }),
    ...(uptime_seconds === undefined ? {} : { uptime_seconds: '<uptime>' }),
    ...asObject(stripJson(rest, replacements)),
  };
}

function describeAuditEntry(entry: JsonValue, replacements: Replacements): JsonValue {
  if (!isJsonObject(entry)) return stripJson(entry, replacements);
  const { id, time, ...rest } = entry;
  return {
    ...(typeof id === 'string' ? { id: replacements.generated('audit-id', id) } : {}),
    ...(typeof time === 'string' ? { time: '<time>' } : {}),
    ...asObject(stripJson(rest, replacements)),
  };
}

function replaceMember(
  data: JsonValue,
  name: string,
  replace: (text: string) => string,
  replacements: Replacements,
): JsonValue {
  if (!isJsonObject(data) || typeof data[name] !== 'string') return stripJson(data, replacements);
  const { [name]: text, ...rest } = data;
  return { [name]: replace(String(text)), ...asObject(stripJson(rest, replacements)) };
}

function asObject(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Keys with equal traffic have no order between them. */
function unorderedOf(value: JsonValue, operation: OperationName | null): Pick<ScenarioResponse, 'unordered'> {
  const data = isJsonObject(value) ? value.data : null;
  if (operation !== 'listUsers' || !Array.isArray(data)) return {};
  const sums = data.map((each) => (isJsonObject(each) ? String(each.bytes_down) : ''));
  return new Set(sums).size < sums.length ? { unordered: ['/data'] } : {};
}

function parsed(bytes: Buffer): JsonValue | undefined {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
