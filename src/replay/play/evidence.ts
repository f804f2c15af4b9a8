import { basename } from 'node:path';
import { OPERATIONS, type Operation, serves } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { isExchange, type Scenario } from '../format/scenario.js';
import type { ScenarioFile } from './scenario-files.js';

/** The sources that a scenario may have, the surest first. */
const GROUNDS = ['recorded', 'spec', 'facts'] as const satisfies readonly Scenario['source'][];
export type Ground = (typeof GROUNDS)[number];

const FILE = 'file';

/** A row of the table: an operation, or what scenarios show besides. */
interface Subject {
  readonly name: string;
  /** Null for what is no operation of the API. */
  readonly operation: Operation | null;
  readonly isServedBy: (line: Revision) => boolean;
}

/** All that scenarios show: the operations, then the kinds of requests besides them, then the file afterwards. */
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
  /** The sources of the scenarios that show it at work, the surest first; empty where it is inferred from other lines. */
  readonly grounds: readonly Ground[];
  /** The steps with it in scenarios of the line, all of which the tests play. */
  readonly played: number;
  /** The reasons for which Keyway is known to differ from what was recorded. */
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
 * The evidence for everything that the lines serve, taken from scenarios and their registers of divergences. `lineOf` finds the
 * line of a revision's id or a server package version.
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

/** The number of a line's operations by their grounds; one may have several. */
export interface Share {
  readonly line: Revision;
  readonly operations: number;
  readonly by: Readonly<Record<Ground, number>>;
  /** Operations without any ground. */
  readonly inferred: number;
  readonly played: number;
  readonly diverging: number;
}

/** The shares of the lines; what is no operation of the API does not count. */
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
