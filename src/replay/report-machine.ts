import type { JsonValue } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { LineSink, Reporter } from './report.js';
import type { ScenarioResult, ShownDifference } from './result.js';

/** One JSON document with every scenario; integers are exact, an absent side of a difference is left out. */
export function createJsonReporter(line: LineSink): Reporter {
  return quietUntilTheEnd((results, summary) => {
    const counts = Object.entries(summary).map(([name, count]) => [name, BigInt(count)]);
    line(writeJson({ summary: Object.fromEntries(counts), scenarios: results.map(recordOf) }, 2));
  });
}

function recordOf(result: ScenarioResult): JsonValue {
  const { name, path, title, outcome, reason, differences, known, hint, milliseconds } = result;
  return {
    name,
    path,
    title,
    outcome,
    reason,
    hint,
    knownDivergences: BigInt(known),
    milliseconds: BigInt(Math.round(milliseconds)),
    differences: differences.map(differenceRecord),
  };
}

function differenceRecord({ step, request, where, expected, actual }: ShownDifference): JsonValue {
  return {
    step: step === 'then' ? step : BigInt(step),
    request,
    where,
    ...(expected === undefined ? {} : { expected }),
    ...(actual === undefined ? {} : { found: actual }),
  };
}

/** JUnit's XML, as CI servers read it: one test case per scenario. */
export function createJunitReporter(line: LineSink): Reporter {
  return quietUntilTheEnd((results, { different, skipped, broken }) => {
    const counts = `tests="${results.length}" failures="${different}" errors="${broken}" skipped="${skipped}"`;
    line('<?xml version="1.0" encoding="UTF-8"?>');
    line(`<testsuites ${counts}>`);
    line(`  <testsuite name="keyway" ${counts}>`);
    for (const result of results) for (const text of testCase(result)) line(`    ${text}`);
    line('  </testsuite>');
    line('</testsuites>');
  });
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
      const text = result.differences.map(differenceText).join('\n');
      return [`${open}><failure message="${result.differences.length} differences">${xml(text)}</failure></testcase>`];
    }
  }
}

function folderOf(name: string): string {
  return name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : 'scenarios';
}

/** Characters that XML 1.0 does not allow at all, control characters and lone surrogates, become U+FFFD. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The Test Anything Protocol, version 14. */
export function createTapReporter(line: LineSink): Reporter {
  let number = 0;
  return {
    begin(count) {
      line('TAP version 14');
      line(`1..${count}`);
    },
    done(result) {
      number += 1;
      for (const text of tapLines(result, number)) line(text);
    },
    end: () => undefined,
  };
}

function tapLines(result: ScenarioResult, number: number): readonly string[] {
  const words = `${number} - ${tapText(result.name)}`;
  if (result.outcome === 'equal') return [`ok ${words}`];
  if (result.outcome === 'skipped') return [`ok ${words} # SKIP ${tapText(result.reason ?? '')}`];
  const reasons = result.reason === null ? result.differences.map(differenceText) : [result.reason];
  return [
    `not ok ${words}`,
    '  ---',
    '  differences:',
    ...reasons.map((each) => `    - ${JSON.stringify(each)}`),
    '  ...',
  ];
}

function tapText(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('#', '\\#')
    .replaceAll(/[\r\n]+/g, ' ');
}

function differenceText({ step, request, where, expected, actual }: ShownDifference): string {
  const show = (value: JsonValue | undefined) => (value === undefined ? 'nothing' : writeJson(value));
  return `step ${step}: ${request}: ${where}: expected ${show(expected)}, found ${show(actual)}`;
}

function quietUntilTheEnd(end: Reporter['end']): Reporter {
  return { begin: () => undefined, done: () => undefined, end };
}
