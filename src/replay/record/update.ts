import type { Answer, Target } from '../../client/call.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { jsonDifferences } from '../format/json-difference.js';
import type { Bindings } from '../format/placeholders.js';
import { Replacements } from '../format/replacements.js';
import { type Exchange, exchangesOf, isExchange, type Scenario, type ScenarioResponse } from '../format/scenario.js';
import { rootOf } from '../play/create-call.js';
import type { PlayedStep } from '../play/play.js';
import { describeExchange } from './describe.js';
import { inferGiven } from './infer-given.js';

/** The server that the new answers come from. */
export interface UpdateMarks {
  /** The server package version; null when the server did not tell. */
  readonly serverVersion: string | null;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** The server's revision: as it was asked for, and its record. */
  readonly revision: string;
  readonly traits: Revision;
  readonly target: Pick<Target, 'apiRoot' | 'base'>;
}

/**
 * A recording with the answers that came instead of the ones that differ, moved to the server's revision and marked with
 * version and date. What still holds keeps its placeholders, secrets are stripped as in a recording. What was inferred of
 * the state before is inferred anew; the file afterwards stays as it is: nobody sees it from outside.
 */
export function updatedScenario(
  scenario: Scenario,
  played: { readonly steps: readonly PlayedStep[]; readonly bindings: Bindings },
  marks: UpdateMarks,
): Scenario {
  const replacements = new Replacements(scenario.anonymous !== true, played.bindings);
  const exchanges = scenario.exchanges.map((step, index) => {
    const found = played.steps.find((each) => each.step === index + 1);
    if (!isExchange(step) || found === undefined || found.answer === null) return step;
    if (found.compareWith(step.response).length === 0) return step;
    const described = describedAnswer(step, found.answer, marks, replacements);
    return { ...step, response: mergedResponse(step.response, described, played.bindings) };
  });
  const { serverVersion, date, revision } = marks;
  return {
    ...scenario,
    revision,
    source: 'recorded',
    ...(serverVersion === null ? {} : { serverVersion }),
    recordedAt: date,
    ...(scenario.anonymous === true ? { given: inferGiven(exchangesOf({ exchanges })) } : {}),
    exchanges,
  };
}

function describedAnswer(
  { request }: Exchange,
  { status, headers, body }: Answer,
  { target, traits }: UpdateMarks,
  replacements: Replacements,
): ScenarioResponse {
  const passed = {
    method: request.method,
    path: rootOf(request, target) + request.path,
    requestHeaders: new Map(Object.entries(request.headers ?? {})),
    requestBody: Buffer.alloc(0),
    status,
    responseHeaders: headers,
    responseBody: body,
  };
  return describeExchange(passed, { ...target, traits }, replacements).response;
}

function mergedResponse(before: ScenarioResponse, now: ScenarioResponse, bindings: Bindings): ScenarioResponse {
  const names = Object.keys(before.headers ?? {}).map((name) => name.toLowerCase());
  // Another status is another answer, with headers of its own.
  const isOther = before.status !== now.status;
  const shown = Object.entries(now.headers ?? {}).filter(
    ([name]) => isOther || names.includes(name) || name === 'content-type',
  );
  const isPlainJson = !isOther && before.headers === undefined && now.headers?.['content-type'] === 'application/json';
  return {
    ...now,
    headers: Object.fromEntries(isPlainJson ? [['content-type', 'application/json']] : shown),
    ...(now.body === undefined ? {} : { body: mergedJson(before.body, now.body, bindings) }),
    ...(before.unordered === undefined || isOther ? {} : { unordered: before.unordered }),
  };
}

/** The new value with what the old one said as well. */
function mergedJson(before: JsonValue | undefined, now: JsonValue, bindings: Bindings): JsonValue {
  if (before === undefined) return now;
  const holds = jsonDifferences(before, now, { unordered: [], bindings: new Map(bindings) }).length === 0;
  if (holds || isPlaceholderForm(before, now)) return before;
  if (Array.isArray(before) && Array.isArray(now))
    return now.map((each: JsonValue, index) => mergedJson(before[index], each, bindings));
  if (!isJsonObject(before) || !isJsonObject(now)) return now;
  const merged: JsonObject = {};
  for (const [name, each] of Object.entries(now)) merged[name] = mergedJson(before[name], each, bindings);
  return merged;
}

/** The same placeholder on both sides equals itself, which as a text it does not. */
function isPlaceholderForm(before: JsonValue, now: JsonValue): boolean {
  return typeof before === 'string' && before === now;
}
