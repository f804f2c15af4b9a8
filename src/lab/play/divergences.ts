import type { Static } from 'typebox';
import { Type } from '../../wire/typebox.js';
import { type AnswerDifference, differenceInWords } from '../format/json-difference.js';
import { RESPONSE, readFixtureJson, type Scenario } from '../format/scenario.js';
import { ANYTHING, listOf, mapOf, object, ShapeError, shaped, TEXT } from '../format/shape.js';
import type { Difference, PlayedFile, PlayedStep } from './play.js';

/** The places that differ, named as in `Difference`, and the answer given instead; a step's override its kind's. */
const MEMBERS = { where: Type.Optional(listOf(TEXT)), instead: Type.Optional(RESPONSE) };

/** One step that differs. */
const DIVERGENCE = object({
  /** The name of its kind. */
  why: TEXT,
  ...MEMBERS,
  /** For the file afterwards: the values at these JSON pointers instead, ignoring the order of elements. */
  file: Type.Optional(mapOf(ANYTHING)),
});
type Divergence = Static<typeof DIVERGENCE>;

/** All known divergences from the scenarios of one folder: the recordings of one server, or facts about servers. */
const REGISTER = object({
  /** The folder's name: a server package version, or `lines`. */
  version: TEXT,
  /** Reasons, each one sentence that names the section of the pages, for all steps that it applies to. */
  kinds: mapOf(object({ reason: TEXT, ...MEMBERS })),
  /** By the scenario's file name without `.json`, then by the step's number (from 1) or `then`. */
  scenarios: mapOf(mapOf(DIVERGENCE)),
});
export type DivergenceRegister = Static<typeof REGISTER>;

/** Reads a register. Throws `ShapeError`, also if a step names an unknown kind, or a kind is never named. */
export function readDivergences(content: string, file: string): DivergenceRegister {
  const result = shaped(REGISTER, readFixtureJson(content, file), { file, path: '' });
  const used = new Set<string>();
  for (const [scenario, steps] of Object.entries(result.scenarios)) {
    for (const [step, { why, where }] of Object.entries(steps)) {
      used.add(why);
      const place = { file, path: `/scenarios/${scenario}/${step}` };
      if (result.kinds[why] === undefined) throw new ShapeError(place, `the name of a kind, found "${why}"`);
      if ((where ?? result.kinds[why].where) === undefined)
        throw new ShapeError(place, 'a list where, here or in its kind');
    }
  }
  const idle = Object.keys(result.kinds).find((name) => !used.has(name));
  if (idle !== undefined) throw new ShapeError({ file, path: `/kinds/${idle}` }, 'a kind that some step names');
  return result;
}

export interface PlayedScenario {
  readonly differences: readonly Difference[];
  readonly steps: readonly PlayedStep[];
  /** Null if the scenario says nothing about the file. */
  readonly file: PlayedFile | null;
}

/**
 * Lists the conflicts of a register with one played scenario, one sentence each: a difference that is not registered, a
 * registered one that did not occur, an answer or a file other than the registered one.
 */
export function divergenceProblems(
  { kinds, scenarios }: DivergenceRegister,
  name: string,
  scenario: Scenario,
  played: PlayedScenario,
): readonly string[] {
  const registered = scenarios[name] ?? {};
  const problems = Object.keys(registered)
    .filter((step) => !isStep(step, scenario))
    .map((step) => `step ${step}: registered, but the scenario has no such step`);
  for (const step of stepsOf(scenario)) {
    const entry = registered[step];
    problems.push(...stepProblems(step, entry && { ...kinds[entry.why], ...entry }, played));
  }
  return problems;
}

/**
 * Lists the differences that a register does not explain. Those of a step are explained if its entry lists every place
 * that differs and has the answer (or the file) that was received; registered differences need not occur.
 */
export function unexplainedDifferences(
  { kinds, scenarios }: DivergenceRegister,
  name: string,
  scenario: Scenario,
  played: PlayedScenario,
): readonly Difference[] {
  const registered = scenarios[name] ?? {};
  return stepsOf(scenario).flatMap((step) => {
    const entry = registered[step];
    const found = played.differences.filter((each) => String(each.step) === step);
    if (entry === undefined) return found;
    const merged = { ...kinds[entry.why], ...entry };
    const covered = found.every(({ where }) => merged.where?.includes(where) === true);
    return covered && insteadDifferences(step, merged, played).length === 0 ? [] : found;
  });
}

/**
 * Tells whether a register explains a difference between two servers: one of them answers the step as the entry says
 * that Keyway does or, if it gives no answer, the difference is at a place that it names.
 */
export function isRegistered(
  { kinds, scenarios }: DivergenceRegister,
  name: string,
  { step, where }: Difference,
  answers: readonly PlayedStep[],
): boolean {
  const entry = scenarios[name]?.[String(step)];
  if (entry === undefined) return false;
  const { instead, where: places = [] } = { ...kinds[entry.why], ...entry };
  if (instead !== undefined) return answers.some((each) => each.compareWith(instead).length === 0);
  return places.some((place) => where === place || where.startsWith(`${place}/`));
}

function stepsOf(scenario: Scenario): readonly string[] {
  return [...scenario.exchanges.map((_, index) => String(index + 1)), 'then'];
}

function isStep(step: string, scenario: Scenario): boolean {
  return stepsOf(scenario).includes(step);
}

function stepProblems(step: string, entry: Divergence | undefined, played: PlayedScenario): readonly string[] {
  const found = played.differences.filter((each) => String(each.step) === step);
  const wanted = new Set(entry?.where ?? []);
  const seen = new Set(found.map(({ where }) => where));
  return [
    ...found.filter(({ where }) => !wanted.has(where)).map(differenceInWords),
    ...[...wanted]
      .filter((where) => !seen.has(where))
      .map((where) => `${where}: registered as "${entry?.why}", but it does not differ`),
    ...insteadDifferences(step, entry, played).map((each) => `instead of the recording: ${differenceInWords(each)}`),
  ].map((problem) => `step ${step}: ${problem}`);
}

function insteadDifferences(
  step: string,
  entry: Divergence | undefined,
  played: PlayedScenario,
): readonly AnswerDifference[] {
  const answer = played.steps.find((each) => String(each.step) === step);
  const places = Object.entries(entry?.file ?? {});
  return [
    ...(entry?.instead === undefined || answer === undefined ? [] : answer.compareWith(entry.instead)),
    ...places.flatMap(([pointer, value]) => played.file?.compareAt(pointer, value) ?? []),
  ];
}
