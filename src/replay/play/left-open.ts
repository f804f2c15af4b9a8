import type { Answer } from '../../client/call.js';
import { isJsonObject } from '../../wire/json/json.js';
import { jsonIn } from '../../wire/json/json-in.js';
import type { Revision } from '../../wire/traits/revision.js';
import { matchRequest } from '../format/effects.js';
import type { AnswerDifference } from '../format/json-difference.js';
import type { Exchange, Scenario, ScenarioResponse } from '../format/scenario.js';

/**
 * How much of an answer the specification decides. `refusal`: that the request fails, in whatever words and status; `no
 * success`: that no operation answers it.
 */
export type Held = 'exactly' | 'refusal' | 'no success';

/**
 * How much of a step's answer servers of every make have to give, where a scenario stands for something that the specification
 * leaves open: the rest is what Keyway alone says.
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

/** What speaks against an answer that is held to no more than this. */
export function openDifferences(held: Exclude<Held, 'exactly'>, answer: Answer): readonly AnswerDifference[] {
  const { status } = answer;
  const value = jsonIn(answer.body);
  const isSuccess = isJsonObject(value) && value.ok === true;
  if (held === 'no success') return isSuccess ? [{ where: 'body /ok', expected: 'no success', actual: true }] : [];
  return status >= 400 && status < 500 && !isSuccess
    ? []
    : [{ where: 'status', expected: 'a refusal, 400 to 499', actual: BigInt(status) }];
}
