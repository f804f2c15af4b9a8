import type { Answer } from '../../client/call.js';
import { type OperationName, serves } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { effectOf, matchRequest } from '../format/effects.js';
import type { AnswerDifference } from '../format/json-difference.js';
import type { Exchange } from '../format/scenario.js';
import type { PlayedStep } from '../play/play.js';
import { compareTexts, differentPlaces, generalPlace, type ReadAnswer, type Reading, readAnswer } from './places.js';

/** One server's answer to one step of a scenario. */
export type RunStep = Pick<PlayedStep, 'step' | 'exchange' | 'answer'>;

/** One scenario played on one server. */
export interface Run extends Reading {
  readonly steps: readonly RunStep[];
}

/** One place where two servers answer differently; `operation` is one more, for what one revision does not serve. */
export interface RunDifference extends AnswerDifference {
  readonly step: number;
  /** The operation, or what the scenario calls a request that is none. */
  readonly operation: string;
}

/** The differences of two runs. */
export type RunComparison = ReturnType<typeof compareRuns>;

interface Sides {
  readonly left: Revision;
  readonly right: Revision;
}

/**
 * Compares what two servers answered. `again` is a second run of the left one, null for none: where it differs from the first
 * by itself (times, counts, generated values) nothing is reported. Once one server has accepted a change that the other refused,
 * they stand in different states: of what follows only operations that one of them does not have are reported.
 */
export function compareRuns(left: Run, right: Run, again: Run | null, sides: Sides) {
  const differences: RunDifference[] = [];
  let partedAt: number | null = null;
  const hasForeign = [left, right].some(({ foreign }) => (foreign?.size ?? 0) > 0);
  for (const [index, one] of left.steps.entries()) {
    const other = right.steps[index];
    if (other === undefined) break;
    const answer = read(one, left);
    const second = again?.steps[index];
    const noise = second === undefined ? [] : differentPlaces(answer, read(second, { ...left, ...again }));
    const noisy = new Set(noise.map(({ where }) => where));
    const operation = operationName(one.exchange);
    const found = differentPlaces(answer, read(other, right)).filter((each) => {
      const said = `${operation} ${generalPlace(each.where)}`;
      const areBothThere = each.expected !== undefined && each.actual !== undefined;
      return !noisy.has(each.where) && !(areBothThere && OF_ITS_OWN.has(said)) && !(hasForeign && COUNTS.has(said));
    });
    const described = describe(found, { one, operation, sides });
    differences.push(...described.filter(({ where }) => partedAt === null || where === OPERATION));
    if (isParting(one, other)) partedAt ??= one.step;
  }
  // `partedAt`: the first step after which the servers stand in different states, so that what follows cannot be compared; or null.
  return { differences, partedAt };
}

function read({ answer, exchange }: RunStep, run: Run): ReadAnswer {
  return readAnswer(answer, run, exchange.response.unordered);
}

/** Stands as the place of a difference when one revision does not serve the operation. */
const OPERATION = 'operation';

/** Counts of keys, which say nothing where one server has others. */
const COUNTS = new Set(['getStatus body /data/active_users', 'getStatus body /data/total_users']);

/** Values that two servers never share, even where the left one happens to say one twice: version, age, time of day. */
const OF_ITS_OWN = new Set([
  'getStatus body /data/version',
  'getStatus body /data/uptime_seconds',
  'listAudit body /data/*/time',
]);

interface Described {
  readonly one: RunStep;
  readonly operation: string;
  readonly sides: Sides;
}

function describe(found: readonly AnswerDifference[], at: Described): readonly RunDifference[] {
  if (found.length === 0) return [];
  const served = servedDifference(at);
  if (served !== null) return [served];
  const status = found.find(({ where }) => where === 'status');
  // With another status the rest of an answer says nothing of its own.
  const told = status === undefined ? found : [status];
  return told.map((each) => ({ step: at.one.step, operation: at.operation, ...each }));
}

/** One difference for an operation that one of the two revisions does not have, whatever it answers instead. */
function servedDifference({ one, operation, sides }: Described): RunDifference | null {
  const matched = matchRequest(one.exchange.request);
  if (matched === null) return null;
  const [left, right] = [serves(sides.left, matched.operation), serves(sides.right, matched.operation)];
  if (left === right) return null;
  const words = (isServed: boolean) => (isServed ? 'served' : 'not served');
  return { step: one.step, operation, where: OPERATION, expected: words(left), actual: words(right) };
}

function operationName(exchange: Exchange): OperationName | string {
  return matchRequest(exchange.request)?.operation.name ?? exchange.operation;
}

/** A session that only one of them began changes nothing but who is let in, which shows by itself. */
function isParting(one: RunStep, other: RunStep): boolean {
  const { request } = one.exchange;
  const effect = effectOf(request);
  if (matchRequest(request)?.operation.subject === 'session') return false;
  return effect.kind !== 'reads' && isAccepted(one.answer) !== isAccepted(other.answer);
}

function isAccepted(answer: Answer | null): boolean {
  return answer !== null && answer.status < 300;
}

/** The same difference in several places and scenarios, once: `where` has `*` for the places in lists, the values are an example. */
export interface DifferenceGroup extends Omit<RunDifference, 'step'> {
  readonly scenarios: readonly string[];
}

/** Gathers differences by operation and place. */
export function groupDifferences(
  compared: readonly { readonly name: string; readonly differences: readonly RunDifference[] }[],
): readonly DifferenceGroup[] {
  const groups = new Map<string, DifferenceGroup>();
  for (const { name, differences } of compared) {
    for (const { operation, where, expected, actual } of differences) {
      const place = generalPlace(where);
      const key = `${operation} ${place}`;
      const present = groups.get(key) ?? { operation, where: place, expected, actual, scenarios: [] };
      const scenarios = present.scenarios.includes(name) ? present.scenarios : [...present.scenarios, name];
      groups.set(key, { ...present, scenarios });
    }
  }
  return [...groups.values()].sort((a, b) => compareTexts(`${a.operation} ${a.where}`, `${b.operation} ${b.where}`));
}
