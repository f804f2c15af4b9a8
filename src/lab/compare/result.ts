import type { OperationName } from '../../wire/operations.js';
import { matchRequest } from '../format/effects.js';
import { type AnswerDifference, differenceInWords } from '../format/json-difference.js';
import { isExchange, type PathRoot, type Scenario } from '../format/scenario.js';
import type { Difference, PlayedStep } from '../play/play.js';
import type { BrokenFile, ScenarioFile } from '../play/scenario-files.js';
import type { RunComparison } from './compare-runs.js';
import type { RunDifference } from './line-changes.js';

/** A difference with the request of the answer. */
export interface ShownDifference extends AnswerDifference {
  /** Number of the step, from 1; `then` for the file afterwards, `read` for a read outside scenarios. */
  readonly step: number | 'then' | 'read';
  /** `GET /users/alpha`, or a description of a step that is not an exchange. */
  readonly request: string;
  /** The difference between two revisions' records that explains it, if one does. */
  readonly because?: string;
}

/** Returns a difference as one line, with its step if it has one. */
export function shownInWords(difference: ShownDifference): string {
  const { step, request } = difference;
  return `${typeof step === 'number' ? `step ${step}: ` : ''}${request}: ${differenceInWords(difference)}`;
}

/** `broken`: it could not be played at all, because of its own file or this machine. */
export type Outcome = 'equal' | 'different' | 'skipped' | 'broken';

export interface ScenarioResult {
  readonly name: string;
  readonly path: string;
  readonly title: string;
  readonly outcome: Outcome;
  /** Why it was skipped or could not be played; otherwise null. */
  readonly reason: string | null;
  readonly differences: readonly ShownDifference[];
  /** The operations whose answers were compared, beyond the access check. */
  readonly seen: readonly OperationName[];
  /** The number of differences that the register of divergences explains. */
  readonly known: number;
  /** Names the steps that were not played, and why; null if all were. */
  readonly unplayed: string | null;
  /** A remark on the differences, for example that the specification leaves the point open; null for none. */
  readonly hint: string | null;
  readonly milliseconds: number;
}

export type Summary = Readonly<Record<Outcome, number>>;

export function summaryOf(results: readonly ScenarioResult[]): Summary {
  const count = (outcome: Outcome) => results.filter((each) => each.outcome === outcome).length;
  return { equal: count('equal'), different: count('different'), skipped: count('skipped'), broken: count('broken') };
}

export function brokenResult({ name, path, problem }: BrokenFile): ScenarioResult {
  return { ...empty(name, path, ''), outcome: 'broken', reason: problem };
}

/** Returns the result of a scenario that was not played. */
export function unplayedResult(
  { name, path, scenario }: ScenarioFile,
  outcome: 'skipped' | 'broken',
  reason: string,
): ScenarioResult {
  return { ...empty(name, path, scenario.title), outcome, reason };
}

/** Returns the result of a scenario that was played; `left` are the unexplained differences. */
export function playedResult(
  { name, path, scenario }: ScenarioFile,
  { all, left, steps, milliseconds }: Played,
): ScenarioResult {
  return {
    ...empty(name, path, scenario.title),
    seen: operationsSeen(steps),
    outcome: left.length === 0 ? 'equal' : 'different',
    differences: left.map((each) => ({ ...each, request: requestOf(scenario, each.step) })),
    known: all.length - left.length,
    hint: left.length > 0 ? hintOf(scenario) : null,
    milliseconds,
  };
}

interface Played {
  readonly steps: readonly PlayedStep[];
  readonly all: readonly Difference[];
  readonly left: readonly Difference[];
  readonly milliseconds: number;
}

/** A scenario played on two servers, and what explains its differences. */
interface Compared extends RunComparison {
  readonly steps: readonly PlayedStep[];
  /** The number of differences that the register of divergences explains, which are left out. */
  readonly known?: number;
  /** Returns the difference between the lines' records that explains a difference; null if none does. */
  readonly becauseOf?: (difference: RunDifference) => string | null;
}

/** Returns the result of a scenario that was played on two servers. */
export function comparedResult(
  file: ScenarioFile,
  { differences, partedAt, unplayed, steps, known = 0, becauseOf = () => null }: Compared,
): ScenarioResult {
  const why = unplayedWords(unplayed);
  if (why !== null && unplayed.length === steps.length) return unplayedResult(file, 'skipped', why);
  return {
    ...empty(file.name, file.path, file.scenario.title),
    outcome: differences.length === 0 ? 'equal' : 'different',
    differences: differences.map((each) => {
      const { operation: request, step, where, expected, actual } = each;
      const because = becauseOf(each);
      return { step, request, where, expected, actual, ...(because === null ? {} : { because }) };
    }),
    seen: operationsSeen(steps),
    known,
    unplayed: why,
    hint:
      partedAt === null
        ? null
        : `from step ${partedAt} on the servers stand in different states: only what comes of their lines is shown`,
  };
}

function unplayedWords(unplayed: readonly PlayedStep[]): string | null {
  const [first, ...others] = unplayed;
  if (first === undefined) return null;
  const [reason] = first.compareWith(first.exchange.response);
  const steps = others.length === 0 ? `step ${first.step} is` : `step ${first.step} and ${others.length} more are`;
  return `${steps} not played: ${typeof reason?.actual === 'string' ? reason.actual : 'neither server answered'}`;
}

/**
 * Lists the operations that were really seen. Every line refuses a credential in the same way, so a 401 shows nothing
 * of the operation.
 */
export function operationsSeen(steps: readonly Pick<PlayedStep, 'exchange' | 'answer'>[]): readonly OperationName[] {
  const seen = steps.flatMap(({ exchange: { request }, answer }) => {
    const matched = matchRequest(request);
    return matched === null || answer === null || answer.status === 401 ? [] : [matched.operation.name];
  });
  return [...new Set(seen)];
}

function empty(name: string, path: string, title: string) {
  const nothing = { reason: null, differences: [], seen: [], known: 0, unplayed: null, hint: null, milliseconds: 0 };
  return { name, path, title, ...nothing };
}

/** Returns a remark if the scenario shows only a decision of Keyway's, which is no measure of other servers. */
function hintOf({ covers = [] }: Scenario): string | null {
  const open = covers.filter((mark) => mark.startsWith('silent:'));
  return open.length === 0 ? null : `the specification leaves this open (${open.join(', ')}): servers may differ here`;
}

/** Prefixes for showing a request's path, by its root. */
const SHOWN_ROOTS: Readonly<Record<PathRoot, string>> = { api: '', server: '', base: '{base}', v1: '{base}/keyway/v1' };

function requestOf(scenario: Scenario, step: number | 'then'): string {
  if (step === 'then') return 'the configuration file afterwards';
  const found = scenario.exchanges[step - 1];
  if (found === undefined) return '';
  if (!isExchange(found)) return Object.keys(found)[0] ?? '';
  const { method, path, root } = found.request;
  return `${method} ${SHOWN_ROOTS[root ?? 'api']}${path}`;
}
