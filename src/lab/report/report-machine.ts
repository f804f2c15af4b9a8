import type { JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type ScenarioResult, type ShownDifference, shownInWords } from '../compare/result.js';
import type { ReadReport } from '../reads/standing.js';
import type { LineSink, Reporter } from './report.js';
import { type Verdict, verdictLines } from './verdict.js';

/** Writes one JSON document with every scenario; integers are exact, an absent side of a difference is left out. */
export function createJsonReporter(line: LineSink): Reporter {
  const end: Reporter['end'] = ({ results, summary, verdict, problems }) => {
    const counts = Object.entries(summary).map(([name, count]) => [name, BigInt(count)]);
    const scenarios = results.map(recordOf);
    const record = verdict === null ? null : verdictRecord(verdict);
    line(writeJson({ summary: Object.fromEntries(counts), verdict: record, problems: [...problems], scenarios }, 2));
  };
  return { end };
}

function verdictRecord({ isCompatible, unjudged, operations, reads }: Verdict): JsonValue {
  return {
    compatible: isCompatible && unjudged === null,
    unjudged,
    operations: { seen: [...operations.seen], unseen: [...operations.unseen] },
    rules: reads === null ? null : { seen: BigInt(reads.rules.seen), all: BigInt(reads.rules.all) },
    lines: reads === null ? null : linesRecord(reads.lines),
    version: reads === null ? null : { ...reads.version },
    notes: [...(reads?.notes ?? [])],
  };
}

function linesRecord({ ownFits, told, all, fitting }: ReadReport['lines']): JsonValue {
  const others = fitting.map(({ id, by }) => ({ id, differsIn: [...by] }));
  return { fits: ownFits, toldApart: BigInt(told), others: BigInt(all), fitting: others };
}

function recordOf(result: ScenarioResult): JsonValue {
  const { name, path, title, outcome, reason, unplayed, differences, known, hint, milliseconds } = result;
  return {
    name,
    path,
    title,
    outcome,
    reason,
    unplayed,
    hint,
    knownDivergences: BigInt(known),
    milliseconds: BigInt(Math.round(milliseconds)),
    differences: differences.map(differenceRecord),
  };
}

function differenceRecord({ step, request, where, expected, actual, because }: ShownDifference): JsonValue {
  return {
    step: typeof step === 'number' ? BigInt(step) : step,
    request,
    where,
    ...(expected === undefined ? {} : { expected }),
    ...(actual === undefined ? {} : { found: actual }),
    ...(because === undefined ? {} : { because }),
  };
}

/**
 * Writes JUnit's XML, as CI servers read it: one test case for each scenario. If the run was cut short, one more has an
 * error that says why; the verdict is a property.
 */
export function createJunitReporter(line: LineSink): Reporter {
  const end: Reporter['end'] = ({ results, summary: { different, skipped, broken }, verdict, problems }) => {
    const [tests, errors] = [results.length, broken].map((count) => count + Math.min(problems.length, 1));
    const counts = `tests="${tests}" failures="${different}" errors="${errors}" skipped="${skipped}"`;
    line('<?xml version="1.0" encoding="UTF-8"?>');
    line(`<testsuites ${counts}>`);
    line(`  <testsuite name="keyway" ${counts}>`);
    if (verdict !== null) {
      const words = verdictLines(verdict).map((each) => each.trim());
      line(`    <properties><property name="verdict" value="${xml(words.join('; '))}"/></properties>`);
    }
    for (const result of results) for (const text of testCase(result)) line(`    ${text}`);
    if (problems.length > 0) {
      const why = `<error message="${xml(problems.join('; '))}"/>`;
      line(`    <testcase classname="keyway" name="the run" time="0.000">${why}</testcase>`);
    }
    line('  </testsuite>');
    line('</testsuites>');
  };
  return { end };
}

function testCase(result: ScenarioResult): readonly string[] {
  const seconds = (result.milliseconds / 1000).toFixed(3);
  const open = `<testcase classname="${xml(folderOf(result.name))}" name="${xml(result.name)}" time="${seconds}"`;
  const reason = xml(result.reason ?? '');
  switch (result.outcome) {
    case 'equal':
      return [`${open}/>`];
    case 'skipped':
      return [`${open}><skipped message="${reason}"/></testcase>`];
    case 'broken':
      return [`${open}><error message="${reason}"/></testcase>`];
    case 'different': {
      const text = result.differences.map(shownInWords).join('\n');
      return [`${open}><failure message="${result.differences.length} differences">${xml(text)}</failure></testcase>`];
    }
  }
}

function folderOf(name: string): string {
  return name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : 'scenarios';
}

/** Replaces characters that XML 1.0 does not allow at all, control characters and lone surrogates, by U+FFFD. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
