import { basename } from 'node:path';
import { OPERATIONS, type Operation, serves } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { isExchange, type Scenario } from '../format/scenario.js';
import type { ScenarioFile } from './scenario-files.js';

/** The sources that a scenario may have, the most reliable first. */
const GROUNDS = ['recorded', 'spec', 'facts'] as const satisfies readonly Scenario['source'][];
export type Ground = (typeof GROUNDS)[number];

const FILE = 'file';

/** A row of the table: an operation, or something else that scenarios show. */
interface Subject {
  readonly name: string;
  /** Null if it is not an operation of the API. */
  readonly operation: Operation | null;
  readonly isServedBy: (line: Revision) => boolean;
}

/** Everything that scenarios show: the operations, then the other kinds of requests, then the file afterwards. */
export const SUBJECTS: readonly Subject[] = [
  ...OPERATIONS.map((operation) => ({
    name: operation.name,
    operation,
    isServedBy: (line: Revision) => serves(line, operation),
  })),
  { name: 'panel', operation: null, isServedBy: ({ capabilities }) => capabilities.panel !== undefined },
  ...['cors', 'unmatched', FILE].map((name) => ({ name, operation: null, isServedBy: () => true })),
];

/** The evidence for one operation of one line. */
export interface Evidence {
  readonly subject: Subject;
  readonly line: Revision;
  /** The sources of scenarios that show it at work, the most reliable first; empty if inferred from other lines. */
  readonly grounds: readonly Ground[];
  /** The number of steps with it in scenarios of the line, all of which the tests play. */
  readonly played: number;
  /** Why Keyway is known to differ from what was recorded. */
  readonly divergences: readonly string[];
}

/** A step of a scenario, or the file after the last one. */
interface Shown {
  readonly line: Revision | null;
  readonly name: string;
  readonly ground: Ground;
  readonly isAtWork: boolean;
  readonly divergence: string | undefined;
}

/**
 * Returns the evidence for everything that the lines serve, from scenarios and their registers of divergences. `lineOf`
 * returns the line of a revision's id or a server package version.
 */
export function evidenceOf(
  lines: readonly Revision[],
  files: readonly ScenarioFile[],
  lineOf: (version: string) => Revision | null,
): readonly Evidence[] {
  const shown = files.flatMap((file) => shownBy(file, lineOf));
  return SUBJECTS.flatMap((subject) =>
    lines.filter(subject.isServedBy).map((line) => {
      const steps = shown.filter((step) => step.name === subject.name && step.line === line);
      // A refusal shows nothing of what an operation does.
      const telling = steps.filter(({ isAtWork }) => isAtWork || subject.operation === null);
      return {
        subject,
        line,
        grounds: GROUNDS.filter((ground) => telling.some((step) => step.ground === ground)),
        played: steps.length,
        divergences: [...new Set(steps.flatMap(({ divergence }) => divergence ?? []))],
      };
    }),
  );
}

function shownBy(
  { path, scenario, register }: ScenarioFile,
  lineOf: (version: string) => Revision | null,
): readonly Shown[] {
  const { source: ground, revision, serverVersion = revision, exchanges, then } = scenario;
  const line = lineOf(serverVersion);
  const registered = register?.scenarios[basename(path, '.json')] ?? {};
  const divergenceAt = (step: string) => register?.kinds[registered[step]?.why ?? '']?.reason;
  const steps = exchanges.flatMap((step, index) =>
    isExchange(step)
      ? [{ name: step.operation, isAtWork: step.response.status < 400, divergence: divergenceAt(`${index + 1}`) }]
      : [],
  );
  const file = then === undefined ? [] : [{ name: FILE, isAtWork: true, divergence: divergenceAt('then') }];
  return [...steps, ...file].map((each) => ({ ...each, line, ground }));
}

/** The number of a line's operations by their grounds; an operation may have several. */
export interface Share {
  readonly line: Revision;
  readonly operations: number;
  readonly by: Readonly<Record<Ground, number>>;
  /** Operations without any ground. */
  readonly inferred: number;
  readonly played: number;
  readonly diverging: number;
}

/** Returns the shares of the lines, without requests that are not operations of the API. */
export function sharesOf(lines: readonly Revision[], evidence: readonly Evidence[]): readonly Share[] {
  return lines.map((line) => {
    const own = evidence.filter((each) => each.line === line && each.subject.operation !== null);
    const countOf = (ground: Ground) => own.filter(({ grounds }) => grounds.includes(ground)).length;
    return {
      line,
      operations: own.length,
      by: { recorded: countOf('recorded'), spec: countOf('spec'), facts: countOf('facts') },
      inferred: own.filter(({ grounds }) => grounds.length === 0).length,
      played: own.filter(({ played }) => played > 0).length,
      diverging: own.filter(({ divergences }) => divergences.length > 0).length,
    };
  });
}
