import type { Answer } from '../../client/call.js';
import { isJsonObject, jsonIn } from '../../wire/json/json.js';
import { type OperationName, serves } from '../../wire/operations.js';
import { effectOf, matchRequest } from '../format/effects.js';
import type { AnswerDifference } from '../format/json-difference.js';
import type { Exchange } from '../format/scenario.js';
import type { PlayedStep } from '../play/play.js';
import { isOfTheLines, type RunDifference, type Sides } from './line-changes.js';
import { differentPlaces, generalPlace, type ReadAnswer, type Reading, readAnswer } from './places.js';

/** One scenario played on one server. */
export interface Run extends Reading {
  readonly steps: readonly PlayedStep[];
}

/** The differences of two runs. */
export type RunComparison = ReturnType<typeof compareRuns>;

/**
 * Compares the answers of two servers. `again` is a second run on the left one, or null; where that differs from the
 * first by itself (times, counts, generated values) nothing is reported. Once one server has accepted a change that the
 * other refused, their states differ, and only differences that come from their lines are reported. A request that no
 * operation answers is compared only by success. A step that neither answered is `unplayed`.
 */
export function compareRuns(left: Run, right: Run, again: Run | null, sides: Sides) {
  const differences: RunDifference[] = [];
  const unplayed: PlayedStep[] = [];
  let partedAt: number | null = null;
  const hasForeign = [left, right].some(({ foreign }) => (foreign?.size ?? 0) > 0);
  for (const [index, one] of left.steps.entries()) {
    const other = right.steps[index];
    if (other === undefined) break;
    if (one.answer === null && other.answer === null) unplayed.push(one);
    const answer = read(one, left);
    const second = again?.steps[index];
    const noise = second === undefined ? [] : differentPlaces(answer, read(second, { ...left, ...again }));
    const noisy = new Set(noise.map(({ where }) => where));
    const operation = operationName(one.exchange);
    const found = isUnmatched(one.exchange)
      ? successDifferences(one, other)
      : differentPlaces(answer, read(other, right)).filter((each) => {
          const said = `${operation} ${generalPlace(each.where)}`;
          const areBothThere = each.expected !== undefined && each.actual !== undefined;
          return !noisy.has(each.where) && !(areBothThere && OF_ITS_OWN.has(said)) && !(hasForeign && COUNTS.has(said));
        });
    const described = describe(found, { one, operation, sides });
    differences.push(...described.filter((each) => partedAt === null || isOfTheLines(each, sides)));
    if (isParting(one, other)) partedAt ??= one.step;
  }
  // `partedAt`: the first step after which the servers' states differ, so that what follows cannot be compared; or
  // null.
  return { differences, partedAt, unplayed };
}

function read({ answer, exchange }: PlayedStep, run: Run): ReadAnswer {
  return readAnswer(answer, exchange, run);
}

/** Tells whether no revision has an operation for a request, so that servers may refuse it in any words. */
function isUnmatched({ operation, request }: Exchange): boolean {
  return operation === 'unmatched' && matchRequest(request) === null;
}

function successDifferences(one: PlayedStep, other: PlayedStep): readonly AnswerDifference[] {
  const [expected, actual] = [isSuccess(one.answer), isSuccess(other.answer)];
  return expected === actual ? [] : [{ where: 'body /ok', expected, actual }];
}

function isSuccess(answer: Answer | null): boolean {
  const value = answer === null ? undefined : jsonIn(answer.body);
  return isJsonObject(value) && value.ok === true;
}

/** The place of a difference that consists in one revision not serving the operation. */
const OPERATION = 'operation';

/** Counts of keys, which mean nothing if one server has others. */
const COUNTS = new Set(['getStatus body /data/active_users', 'getStatus body /data/total_users']);

/** Values that two servers never share, even if the left one happens to repeat one: version, age, time of day. */
const OF_ITS_OWN = new Set([
  'getStatus body /data/version',
  'getStatus body /data/uptime_seconds',
  'getDnsStats body /data/since_seconds',
  'listAudit body /data/*/time',
]);

interface Described {
  readonly one: PlayedStep;
  readonly operation: string;
  readonly sides: Sides;
}

function describe(found: readonly AnswerDifference[], at: Described): readonly RunDifference[] {
  if (found.length === 0) return [];
  const served = servedDifference(at);
  if (served !== null) return [served];
  const status = found.find(({ where }) => where === 'status');
  // With another status the rest of an answer means nothing.
  const told = status === undefined ? found : [status];
  return told.map((each) => ({ step: at.one.step, operation: at.operation, ...each }));
}

/** Returns a single difference for an operation that only one of the revisions has, whatever the other answers. */
function servedDifference({ one, operation, sides }: Described): RunDifference | null {
  const matched = matchRequest(one.exchange.request);
  if (matched === null) return null;
  const [left, right] = [serves(sides.left, matched.operation), serves(sides.right, matched.operation)];
  if (left === right) return null;
  const words = (isServed: boolean) => (isServed ? 'served' : 'not served');
  return { step: one.step, operation, where: OPERATION, expected: words(left), actual: words(right) };
}

/** Returns the operation of a request, or the scenario's name for any other request. */
export function operationName(exchange: Exchange): OperationName | string {
  return matchRequest(exchange.request)?.operation.name ?? exchange.operation;
}

/**
 * Tells whether the servers' states differ from here on. A session that only one of them began decides only who is
 * admitted, which shows by itself.
 */
function isParting(one: PlayedStep, other: PlayedStep): boolean {
  const { request } = one.exchange;
  const effect = effectOf(request);
  if (matchRequest(request)?.operation.subject === 'session') return false;
  return effect.kind !== 'reads' && isAccepted(one.answer) !== isAccepted(other.answer);
}

function isAccepted(answer: Answer | null): boolean {
  return answer !== null && answer.status < 300;
}
