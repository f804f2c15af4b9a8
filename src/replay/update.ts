import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import type { Revision } from '../wire/traits/revision.js';
import { describeExchange } from './describe.js';
import { jsonDifferences } from './json-difference.js';
import type { Bindings } from './placeholders.js';
import type { PlayedStep } from './play.js';
import { createReplacements } from './replacements.js';
import { isExchange, type Scenario, type ScenarioResponse } from './scenario.js';

/** What an update marks a scenario with. */
export interface UpdateMarks {
  /** The server package version; null when the server did not tell. */
  readonly serverVersion: string | null;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** What the server speaks. */
  readonly traits: Revision;
}

/**
 * A recording with the answers that came instead of the ones that differ, marked with version and date. What still holds
 * keeps its placeholders, secrets are stripped as in a recording. The file afterwards stays as it is: nobody sees it from
 * outside.
 */
export function updatedScenario(
  scenario: Scenario,
  played: { readonly steps: readonly PlayedStep[]; readonly bindings: Bindings },
  { serverVersion, date, traits }: UpdateMarks,
): Scenario {
  const replacements = createReplacements(scenario.anonymous !== true, played.bindings);
  const exchanges = scenario.exchanges.map((step, index) => {
    const found = played.steps.find((each) => each.step === index + 1);
    if (!isExchange(step) || found === undefined || found.answer === null) return step;
    if (found.compareWith(step.response).length === 0) return step;
    const { request } = step;
    const { status, headers, body } = found.answer;
    const described = describeExchange(
      {
        method: request.method,
        path: request.path,
        requestHeaders: new Map(Object.entries(request.headers ?? {})),
        requestBody: Buffer.alloc(0),
        status,
        responseHeaders: headers,
        responseBody: body,
      },
      { apiRoot: '', base: '', traits },
      replacements,
    );
    return { ...step, response: mergedResponse(step.response, described.response, played.bindings) };
  });
  return {
    ...scenario,
    source: 'recorded',
    ...(serverVersion === null ? {} : { serverVersion }),
    recordedAt: date,
    exchanges,
  };
}

function mergedResponse(before: ScenarioResponse, now: ScenarioResponse, bindings: Bindings): ScenarioResponse {
  const names = Object.keys(before.headers ?? {}).map((name) => name.toLowerCase());
  const shown = Object.entries(now.headers ?? {}).filter(([name]) => names.includes(name) || name === 'content-type');
  const isPlainJson = before.headers === undefined && now.headers?.['content-type'] === 'application/json';
  return {
    ...now,
    headers: Object.fromEntries(isPlainJson ? [['content-type', 'application/json']] : shown),
    ...(now.body === undefined ? {} : { body: mergedJson(before.body, now.body, bindings) }),
    ...(before.unordered === undefined ? {} : { unordered: before.unordered }),
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
