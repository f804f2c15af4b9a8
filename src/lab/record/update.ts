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

/** The server that gave the new answers. */
export interface UpdateMarks {
  /** The server package version; null if the server did not report it. */
  readonly serverVersion: string | null;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** The server's revision: as given, and its record. */
  readonly revision: string;
  readonly traits: Revision;
  readonly target: Pick<Target, 'apiRoot' | 'base'>;
}

/**
 * Replaces the differing answers of a recording, moves it to the server's revision and marks it with version and date.
 * What is still valid keeps its placeholders, and secrets are stripped as in a recording. The inferred state before is
 * inferred again; the file afterwards stays, because it cannot be seen from outside.
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

/** Returns the new value, keeping the parts of the old one that still match. */
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

/** Tells whether both sides are the same placeholder, which as a text does not match itself. */
function isPlaceholderForm(before: JsonValue, now: JsonValue): boolean {
  return typeof before === 'string' && before === now;
}
