import { describe, expect, test } from 'vitest';
import { createJunitReporter, createTapReporter } from '../../src/replay/report-machine.js';
import { createTextReporter } from '../../src/replay/report-text.js';
import { type ScenarioResult, summaryOf } from '../../src/replay/result.js';

const RESULT: ScenarioResult = {
  name: 'folder/one',
  path: '/folder/one.json',
  title: 'a title',
  outcome: 'equal',
  reason: null,
  differences: [],
  seen: [],
  known: 0,
  hint: null,
  milliseconds: 1500,
};

const DIFFERENT: ScenarioResult = {
  ...RESULT,
  outcome: 'different',
  differences: [{ step: 3, request: 'GET /users', where: 'body /data', expected: 'x'.repeat(80), actual: undefined }],
};

function linesOf(...results: readonly ScenarioResult[]): readonly string[] {
  const lines: string[] = [];
  const reporter = createTextReporter((text) => lines.push(text), ['expected', 'found']);
  reporter.begin(results.length);
  for (const each of results) reporter.done(each);
  reporter.end({ results, summary: summaryOf(results), verdict: null, problems: [] });
  return lines;
}

describe('the report for people', () => {
  test('has one line per scenario, and a summary', () => {
    expect(linesOf(RESULT, { ...RESULT, outcome: 'skipped', reason: 'why' })).toEqual([
      'equal     folder/one: a title',
      'skipped   folder/one: why',
      '1 equal, 0 different, 1 skipped',
    ]);
  });

  test('shows a difference side by side, long values over several lines', () => {
    const x = (count: number) => 'x'.repeat(count);
    expect(linesOf(DIFFERENT).slice(1, -1)).toEqual([
      '  step 3: GET /users',
      `    ${' '.repeat(24)} | expected${' '.repeat(28)} | found`,
      `    body /data${' '.repeat(14)} | "${x(35)} | (nothing)`,
      `    ${' '.repeat(24)} | ${x(36)} |`,
      `    ${' '.repeat(24)} | ${x(9)}"${' '.repeat(26)} |`,
    ]);
  });
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

  test('TAP counts, and keeps a name from being a directive', () => {
    const lines: string[] = [];
    const reporter = createTapReporter((text) => lines.push(text));
    const results = [{ ...RESULT, name: 'a # SKIP' }, DIFFERENT];
    reporter.begin(2);
    for (const each of results) reporter.done(each);
    expect(lines.slice(0, 4)).toEqual(['TAP version 14', '1..2', 'ok 1 - a \\# SKIP', 'not ok 2 - folder/one']);
  });
});
