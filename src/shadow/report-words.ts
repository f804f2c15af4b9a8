import { CHANGE_KINDS, type ChangeKind } from '../replay/compare/line-changes.js';
import type { ScenarioResult, ShownDifference } from '../replay/compare/result.js';
import { type Verdict, verdictOf } from '../replay/report/verdict.js';
import { type JsonValue, jsonIn } from '../wire/json/json.js';
import { OPERATIONS, type OperationName } from '../wire/operations.js';
import type { ClientRow } from './client-rows.js';
import type { DifferenceKind, ShadowReport } from './tally.js';

/** The report as the results of a run, an operation each, for the reporters of `replay`. */
export function resultsOf(report: ShadowReport): readonly ScenarioResult[] {
  const operations = [...new Set(report.rows.map(({ operation }) => operation))].sort();
  return operations.map((operation) => {
    const rows = report.rows.filter((row) => row.operation === operation);
    const kinds = report.differences.filter((kind) => kind.operation === operation);
    const unexplained = kinds.filter(({ because }) => because === null);
    const compared = sumOf(rows, ({ equal, expected, different }) => equal + expected + different);
    const reasons = leftOutOf(rows).map(([why, count]) => `${count} ${why}`);
    return {
      name: operation,
      path: '',
      title: `${compared} of ${sumOf(rows, ({ seen }) => seen)} requests compared`,
      outcome: compared === 0 ? 'skipped' : unexplained.length > 0 ? 'different' : 'equal',
      reason: compared === 0 ? reasons.join('; ') : null,
      differences: unexplained.map(shownOf),
      seen: compared === 0 ? [] : OPERATIONS.map(({ name }) => name).filter((name) => name === operation),
      known: kinds.length - unexplained.length,
      unplayed: null,
      hint: null,
      milliseconds: 0,
    };
  });
}

/** Sums up what the report rests on. */
export function verdictOfReport(report: ShadowReport): Verdict | null {
  if (report.compared === 0) return null;
  const served = [...report.operations.seen, ...report.operations.unseen];
  const names: readonly OperationName[] = OPERATIONS.map(({ name }) => name).filter((name) => served.includes(name));
  return verdictOf(resultsOf(report), names, null, null);
}

function shownOf({ operation, where, example, because }: DifferenceKind): ShownDifference {
  const [expected, actual] = [exampleValue(example.target), exampleValue(example.shadow)];
  return { step: 'read', request: operation, where, expected, actual, ...(because === null ? {} : { because }) };
}

/** An example is JSON, or says that there is nothing. */
function exampleValue(text: string): JsonValue | undefined {
  return jsonIn(Buffer.from(text));
}

/** Tells whether the report makes the exit code 1: anything that nothing explains, or a change of the lines of these kinds. */
export function isFailing({ rows, differences }: ShadowReport, failOn: ChangeKind | null): boolean {
  const counted = failOn === null ? [] : CHANGE_KINDS.slice(0, CHANGE_KINDS.indexOf(failOn) + 1);
  return (
    rows.some(({ different }) => different > 0) ||
    differences.some(({ explainedBy, kind }) => explainedBy === 'lines' && counted.includes(kind))
  );
}

/** Milliseconds after which a report is late: one that runs writes it twice a second, and compares for a few seconds at most. */
const LATE = 30_000;

/** Says of when a report is that is read now, and whether the run goes on. */
export function standingWords({ writtenAt, isLast, lost }: ShadowReport, now: number): string {
  const age = Math.max(0, now - Date.parse(writtenAt));
  if (isLast) return `the run ended at ${writtenAt}`;
  // From then on nobody writes.
  if (lost !== null) return `as of ${writtenAt}: ${lostWords(lost)}; clients are served on`;
  const words = `as of ${writtenAt}, ${Math.round(age / 1000)} s ago`;
  return age < LATE ? words : `${words}: one that runs writes twice a second, so that this one has ended or hangs`;
}

/** Says that a comparison has ended by a fault of its own. */
export function lostWords(why: string): string {
  return `nothing was compared any more: ${why}`;
}

/** Lines for people, beneath the verdict: the lines' own changes, each client's operations, and what was not compared. */
export function reportLines(report: ShadowReport): readonly string[] {
  const { target, shadow, rows, requests, compared, waiting, lost, notes } = report;
  const expected = report.differences.filter(({ because }) => because !== null);
  const named = target === null || shadow === null ? '' : ` from ${target.version} to ${shadow.version}`;
  return [
    `${requests} requests, ${compared} compared${waiting === 0 ? '' : `, ${waiting} more wait to be`}`,
    ...section(`Changes${named}, which the lines or the register explain:`, expected.map(changeLine)),
    ...section('By client and operation:', rows.length === 0 ? [] : [HEADINGS, ...rows].map(rowLine)),
    ...section(
      'Not compared:',
      leftOutOf(rows).map(([why, count]) => `${String(count).padStart(8)}  ${why}`),
    ),
    ...section('Meanwhile:', lost === null ? notes : [...notes, lostWords(lost)]),
  ];
}

function section(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${line}`)];
}

function changeLine({ operation, where, times, clients, because, example }: DifferenceKind): string {
  const change =
    where === 'operation' ? example.shadow.replaceAll('"', '') : `${where}: ${example.target} → ${example.shadow}`;
  return `${operation} ${change}   (${because}; ${times} times; ${clients.join(', ')})`;
}

const HEADINGS = {
  client: 'client',
  operation: 'operation',
  seen: 'seen',
  equal: 'equal',
  expected: 'expected',
  different: 'DIFFERENT',
} as const;

function rowLine({ client, operation, ...counts }: Pick<ClientRow, 'client' | 'operation'> & Counts): string {
  const { seen, equal, expected, different } = counts;
  const numbers = [seen, equal, expected, different].map((each) => String(each).padStart(9));
  return `${client.padEnd(24)} ${operation.padEnd(18)}${numbers.join(' ')}`;
}

type Counts = Readonly<Record<'seen' | 'equal' | 'expected' | 'different', number | string>>;

/** The reasons why requests were not compared, the commonest first. */
function leftOutOf(rows: readonly ClientRow[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { leftOut } of rows)
    for (const [why, count] of Object.entries(leftOut)) counts.set(why, (counts.get(why) ?? 0) + count);
  return [...counts].sort(([, one], [, other]) => other - one);
}

function sumOf(rows: readonly ClientRow[], count: (row: ClientRow) => number): number {
  return rows.reduce((sum, row) => sum + count(row), 0);
}
