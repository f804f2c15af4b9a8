import { describe, expect, test } from 'vitest';
import { type ScenarioResult, summaryOf } from '../../src/lab/compare/result.js';
import { createJunitReporter } from '../../src/lab/report/report-machine.js';
import { createTextReporter } from '../../src/lab/report/report-text.js';
import { shortfall, verdictOf } from '../../src/lab/report/verdict.js';
import { OPERATIONS } from '../../src/wire/operations.js';

const RESULT: ScenarioResult = {
  name: 'folder/one',
  path: '/folder/one.json',
  title: 'a title',
  outcome: 'equal',
  reason: null,
  differences: [],
  seen: [],
  known: 0,
  unplayed: null,
  hint: null,
  milliseconds: 1500,
};

const DIFFERENT: ScenarioResult = {
  ...RESULT,
  outcome: 'different',
  differences: [{ step: 3, request: 'GET /users', where: 'body /data', expected: 'x'.repeat(80), actual: undefined }],
};

function linesOf(results: readonly ScenarioResult[], isVerbose = false): readonly string[] {
  const lines: string[] = [];
  const reporter = createTextReporter((text) => lines.push(text), ['expected', 'found'], { isVerbose });
  reporter.begin?.(results.length);
  for (const each of results) reporter.done?.(each);
  reporter.end({ results, summary: summaryOf(results), verdict: null, problems: [] });
  return lines;
}

describe('the report for people', () => {
  const skipped = (reason: string) => ({ ...RESULT, outcome: 'skipped' as const, reason });
  const unplayed = { ...RESULT, unplayed: 'not played from step 3 on: why' };

  test('has one line per scenario that was played, the reasons of others with their counts, and a summary', () => {
    const results = [unplayed, skipped('step 2 is odd'), skipped('other'), skipped('step 11 is odd')];
    expect(linesOf(results)).toEqual([
      'equal     folder/one: a title',
      'not played, by reason (--verbose names each):',
      '     2  a step is odd',
      '     1  not played from a step on: why',
      '     1  other',
      '1 equal, 0 different, 3 skipped',
    ]);
  });

  test('names every scenario that was not played where that is asked for', () => {
    expect(linesOf([unplayed, skipped('why')], true)).toEqual([
      'equal     folder/one: a title',
      '  not played from step 3 on: why',
      'skipped   folder/one: why',
      '1 equal, 0 different, 1 skipped',
    ]);
  });

  test('cuts a long place in its middle', () => {
    const [first] = DIFFERENT.differences;
    const where = 'body /data/inbounds/0/users/12/access_key';
    const lines = linesOf([{ ...DIFFERENT, differences: first === undefined ? [] : [{ ...first, where }] }]);
    expect(lines[3]).toMatch(/^ {4}body \/d…rs\/12\/access_key \| /);
  });

  test('shows a difference side by side, long values over several lines', () => {
    const x = (count: number) => 'x'.repeat(count);
    expect(linesOf([DIFFERENT]).slice(1, -1)).toEqual([
      '  step 3: GET /users',
      `    ${' '.repeat(24)} | expected${' '.repeat(28)} | found`,
      `    body /data${' '.repeat(14)} | "${x(35)} | (nothing)`,
      `    ${' '.repeat(24)} | ${x(36)} |`,
      `    ${' '.repeat(24)} | ${x(9)}"${' '.repeat(26)} |`,
    ]);
  });
});

test.each([
  [8, 'operations', null],
  [9, 'operations', '--require-played 9: only 8 of 18 operations were seen'],
  [40, 'percent', null],
  [50, 'percent', '--require-played 50%: only 8 of 18 operations were seen'],
] as const)('with 8 of 18 operations seen and %i %s required the shortfall is %s', (count, unit, words) => {
  const asked = OPERATIONS.slice(0, 18).map(({ name }) => name);
  const verdict = verdictOf([{ ...RESULT, seen: asked.slice(0, 8) }], asked, null, null);
  expect(shortfall(verdict, { count, unit })).toBe(words);
});

describe('reports for programs', () => {
  test('JUnit escapes what XML does not allow', () => {
    const lines: string[] = [];
    const odd = { ...RESULT, name: 'a<b>"&\u0000\ud800', outcome: 'broken' as const, reason: '<why>' };
    createJunitReporter((text) => lines.push(text)).end({
      results: [odd],
      summary: summaryOf([odd]),
      verdict: null,
      problems: [],
    });
    expect(lines).toContain(
      '    <testcase classname="scenarios" name="a&lt;b&gt;&quot;&amp;\ufffd\ufffd" time="1.500"><error message="&lt;why&gt;"/></testcase>',
    );
  });
});
