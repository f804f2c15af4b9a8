import { OPERATIONS, type OperationName } from '../../wire/operations.js';
import type { ScenarioResult } from '../compare/result.js';
import { matchRequest } from '../format/effects.js';
import { exchangesOf, type Scenario } from '../format/scenario.js';
import type { ReadReport } from '../reads/standing.js';

/** A run's verdict and its grounds. */
export type Verdict = ReturnType<typeof verdictOf>;

export function operationsIn(scenarios: readonly Scenario[]): readonly OperationName[] {
  const names = scenarios.flatMap(exchangesOf).map(({ request }) => matchRequest(request)?.operation.name);
  return OPERATIONS.map(({ name }) => name).filter((name) => names.includes(name));
}

/** Sums up the results; `asked` are the operations that the run was about. */
export function verdictOf(
  results: readonly ScenarioResult[],
  asked: readonly OperationName[],
  reads: Omit<ReadReport, 'results'> | null,
  unjudged: string | null,
) {
  const seen = new Set(results.flatMap((each) => each.seen));
  return {
    isCompatible: results.every(({ outcome }) => outcome !== 'different'),
    /** Why the server cannot be judged although nothing differed, or null. */
    unjudged,
    /** The operations whose answers were compared, of those in question. */
    operations: { seen: asked.filter((each) => seen.has(each)), unseen: asked.filter((each) => !seen.has(each)) },
    /** The results of reads alone; null if no server was read. */
    reads,
  };
}

/** Returns the verdict as one line, followed by what it does not cover. */
export function verdictLines({ isCompatible, unjudged, operations, reads }: Verdict): readonly string[] {
  const { seen, unseen } = operations;
  const parts = [`${seen.length} of ${seen.length + unseen.length} operations`];
  if (reads !== null) parts.push(`${reads.rules.seen} of ${reads.rules.all} rules`);
  if (reads?.lines.ownFits === true)
    parts.push(`told apart from ${reads.lines.told} of ${reads.lines.all} other lines`);
  const judged = isCompatible ? (unjudged === null ? 'compatible' : `not judged, ${unjudged},`) : 'not compatible';
  const lines = [`${judged} as far as seen: ${parts.join(', ')}`];
  if (unseen.length > 0) lines.push(`  not seen: ${unseen.join(', ')}`);
  if (reads === null) return lines;
  lines.push(...versionLines(reads.version), ...reads.notes.map((note) => `  note: ${note}`));
  const { ownFits, fitting } = reads.lines;
  if (ownFits) return [...lines, ...fitting.map(({ id, by }) => `  not told apart from ${id}: ${by.join('; ')}`)];
  const others = fittingWords(reads.lines);
  return others === null ? lines : [others, ...lines];
}

function versionLines({ reported, line, isOwn }: ReadReport['version']): readonly string[] {
  return isOwn
    ? []
    : [`  it reports version ${reported}, which is ${line === null ? 'of no known line' : `of ${line}`}`];
}

/** Names the other lines that fit a server which does not fit its own; null if none does. */
export function fittingWords({ ownFits, fitting }: ReadReport['lines']): string | null {
  return ownFits || fitting.length === 0 ? null : `what was read fits ${fitting.map(({ id }) => id).join(', ')}`;
}

/** The least that a run must have seen to count: a number of operations, or a percentage. */
export interface Required {
  readonly count: number;
  readonly unit: 'operations' | 'percent';
}

/** Returns why less was seen than is required, or null. */
export function shortfall({ operations: { seen, unseen } }: Verdict, { count, unit }: Required): string | null {
  const all = seen.length + unseen.length;
  const isEnough = unit === 'percent' ? seen.length * 100 >= count * all : seen.length >= count;
  if (isEnough) return null;
  return `--require-played ${count}${unit === 'percent' ? '%' : ''}: only ${seen.length} of ${all} operations were seen`;
}
