import type { Answer } from '../../client/call.js';
import { isJsonObject, type JsonOptions, type JsonValue, jsonIn } from '../../wire/json/json.js';
import { pointerSteps } from '../../wire/schema-check.js';
import type { Revision } from '../../wire/traits/revision.js';
import { matchRequest } from '../format/effects.js';
import { type AnswerDifference, jsonDifferences, type ValueDifference } from '../format/json-difference.js';
import { type Bindings, matchText } from '../format/placeholders.js';
import type { Exchange, FileAfterwards, Scenario, ScenarioResponse } from '../format/scenario.js';
import { corsDifferences } from './cors.js';

export interface AnswerComparison {
  readonly bindings: Bindings;
  /** The request's headers as sent, in lower case; they decide what a cross-origin answer permits. */
  readonly requestHeaders: ReadonlyMap<string, string>;
  /**
   * `ignored`: only the content type `text/html` of a panel page is compared, because a server's own panel is not part
   * of the contract.
   */
  readonly pages: 'exact' | 'ignored';
}

/**
 * Texts of which only the beginning is part of the contract: words of the operating system or the parser follow
 * (protocol: "Errors"; "Where recorded servers differ").
 */
const OPEN_ENDED = [
  'Failed to read config file',
  'Failed to strip comments',
  'Failed to parse config JSON',
  'Failed to format config JSON',
  'Failed to write config file',
];

/** JSON pointers of the file's key lists in both layouts, whose order is not part of the contract in recordings. */
const KEY_LISTS = ['/access_keys', '/inbounds/*/users'];

/**
 * Compares an answer with a scenario's response, as "How to compare" of the recordings requires; returns nothing if
 * they are equal.
 */
export function compareAnswer(
  response: ScenarioResponse,
  answer: Answer,
  comparison: AnswerComparison,
): readonly AnswerDifference[] {
  return [
    ...(response.status === answer.status
      ? []
      : [{ where: 'status', expected: BigInt(response.status), actual: BigInt(answer.status) }]),
    ...headerDifferences(response, answer, comparison),
    ...contentDifferences(response, answer, comparison),
  ];
}

function headerDifferences(
  response: ScenarioResponse,
  answer: Answer,
  comparison: AnswerComparison,
): readonly AnswerDifference[] {
  const expected = expectedHeaders(response);
  if (expected === undefined) return [];
  return [
    ...exactHeader('content-type', expected, answer, comparison.bindings),
    ...exactHeader('location', expected, answer, comparison.bindings),
    // The specification has none, so it is compared only if a scenario names it.
    ...(expected.has('etag') ? exactHeader('etag', expected, answer, comparison.bindings) : []),
    ...allowDifferences(expected, answer),
    ...corsDifferences(expected, answer.headers, comparison.requestHeaders),
  ];
}

function expectedHeaders(response: ScenarioResponse): ReadonlyMap<string, string> | undefined {
  if (response.headers !== undefined) {
    return new Map(Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]));
  }
  return response.body === undefined ? undefined : new Map([['content-type', 'application/json']]);
}

function exactHeader(
  name: string,
  expected: ReadonlyMap<string, string>,
  answer: Answer,
  bindings: Bindings,
): readonly AnswerDifference[] {
  const wanted = expected.get(name);
  const given = answer.headers.get(name);
  if (wanted === undefined && given === undefined) return [];
  if (wanted !== undefined && given !== undefined && matchText(wanted, given, bindings)) return [];
  return [{ where: `header ${name}`, expected: wanted, actual: given }];
}

function allowDifferences(expected: ReadonlyMap<string, string>, answer: Answer): readonly AnswerDifference[] {
  const [wanted, given] = [expected.get('allow'), answer.headers.get('allow')];
  const isEqual = wanted === undefined || (given !== undefined && methodSet(wanted) === methodSet(given));
  return isEqual ? [] : [{ where: 'header allow', expected: wanted, actual: given }];
}

function methodSet(list: string): string {
  return [...new Set(list.split(',').map((each) => each.trim().toUpperCase()))].sort().join(',');
}

function contentDifferences(
  response: ScenarioResponse,
  answer: Answer,
  comparison: AnswerComparison,
): readonly AnswerDifference[] {
  if (response.text !== undefined) return textDifferences(response.text, answer, comparison);
  if (response.body === undefined) return [];
  const actual = jsonOrText(answer.body);
  const options = { unordered: response.unordered ?? [], bindings: comparison.bindings };
  return jsonDifferences(openEnded(response.body), actual, options).map(placed('body'));
}

function textDifferences(text: string, answer: Answer, comparison: AnswerComparison): readonly AnswerDifference[] {
  if (comparison.pages === 'ignored' && answer.headers.get('content-type') === 'text/html' && text.startsWith('<'))
    return [];
  const actual = answer.body.toString('utf8');
  return matchText(text, actual, comparison.bindings) ? [] : [{ where: 'text', expected: text, actual }];
}

/** Returns the expected body with the open end of an open-ended error text written as a placeholder. */
function openEnded(body: JsonValue): JsonValue {
  if (!isJsonObject(body)) return body;
  const error = body.error;
  const beginning = typeof error === 'string' ? OPEN_ENDED.find((each) => error.startsWith(each)) : undefined;
  return beginning === undefined ? body : { ...body, error: `<text starting:${beginning}>` };
}

export interface FileComparison {
  readonly bindings: Bindings;
  /** `ignored`: the order of the key list is not part of the contract (recordings). */
  readonly keyOrder: 'exact' | 'ignored';
}

/** Compares the configuration file with what a scenario requires of it afterwards. */
export function compareFile(
  expected: FileAfterwards,
  actual: string,
  comparison: FileComparison,
): readonly AnswerDifference[] {
  if (expected.compare === 'bytes') return byteDifferences(expected, actual, comparison.bindings);
  const wanted = expected.configText === undefined ? expected.config : fileValue(expected.configText.join('\n'));
  if (wanted === undefined) return [];
  const given = fileValue(actual);
  const unordered = comparison.keyOrder === 'ignored' ? KEY_LISTS : [];
  return jsonDifferences(wanted, given, { unordered, bindings: comparison.bindings }).map(placed('file'));
}

/** Compares one place of the configuration file, ignoring the order of elements; `file POINTER` where it differs. */
export function compareFileAt(
  pointer: string,
  expected: JsonValue,
  actual: string,
  bindings: Bindings,
): readonly AnswerDifference[] {
  const given = valueAt(fileValue(actual), pointer);
  return jsonDifferences(expected, given, { unordered: [pointer], bindings }, pointer).map(placed('file'));
}

function valueAt(root: JsonValue, pointer: string): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const name of pointerSteps(pointer)) {
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

function byteDifferences(expected: FileAfterwards, actual: string, bindings: Bindings): readonly AnswerDifference[] {
  const wanted = (expected.configText ?? []).join('\n');
  return matchText(wanted, actual, bindings) ? [] : [{ where: 'file', expected: wanted, actual }];
}

function placed(what: 'body' | 'file'): (difference: ValueDifference) => AnswerDifference {
  return ({ path, expected, actual }) => ({ where: path === '' ? what : `${what} ${path}`, expected, actual });
}

function fileValue(text: string): JsonValue {
  return jsonOrText(Buffer.from(text, 'utf8'), { comments: true });
}

/** Parses bytes as JSON, or returns them as text, so that a difference shows what was received. */
function jsonOrText(bytes: Buffer, options: JsonOptions = {}): JsonValue {
  const value = jsonIn(bytes, options);
  return value === undefined ? bytes.toString('utf8') : value;
}

/**
 * The part of an answer that is specified. `refusal`: the request fails, with any words and status; `no success`: no
 * operation answers it.
 */
export type Held = 'exactly' | 'refusal' | 'no success';

/**
 * Returns the part of a step's answer that every server must give: less than all if a scenario covers what the
 * specification leaves open and only Keyway defines.
 */
export function heldTo(
  { operation, request, response }: Exchange,
  { covers = [] }: Pick<Scenario, 'covers'>,
  revision: Revision,
): Held {
  if (!covers.some((mark) => mark.startsWith('silent:'))) return 'exactly';
  if (operation === 'panel' || request.method === 'OPTIONS') return 'exactly';
  const matched = matchRequest(request);
  if (operation === 'unmatched' || matched === null) return 'no success';
  if (response.status < 400 || response.text !== undefined) return 'exactly';
  const error = errorIn(response);
  const rows = [...matched.operation.failures, 'unauthorized' as const].map((name) => revision.errors[name]);
  const isSpecified = rows.some(({ status, text }) => status === response.status && error.includes(text));
  return isSpecified ? 'exactly' : 'refusal';
}

function errorIn({ body }: ScenarioResponse): string {
  return isJsonObject(body) && typeof body.error === 'string' ? body.error : '';
}

/** Lists the differences of an answer of which no more than this is specified. */
export function openDifferences(held: Exclude<Held, 'exactly'>, answer: Answer): readonly AnswerDifference[] {
  const { status } = answer;
  const value = jsonIn(answer.body);
  const isSuccess = isJsonObject(value) && value.ok === true;
  if (held === 'no success') return isSuccess ? [{ where: 'body /ok', expected: 'no success', actual: true }] : [];
  return status >= 400 && status < 500 && !isSuccess
    ? []
    : [{ where: 'status', expected: 'a refusal, 400 to 499', actual: BigInt(status) }];
}
