import { describe, expect, test } from 'vitest';
import type { Exchange, Scenario } from '../../src/lab/format/scenario.js';
import { divergenceProblems, isRegistered, readDivergences } from '../../src/lab/play/divergences.js';
import type { Difference, PlayedStep } from '../../src/lab/play/play.js';

const exchange: Exchange = {
  operation: 'createUser',
  request: { method: 'POST', path: '/users' },
  response: { status: 422 },
};
const scenario: Scenario = {
  title: 't',
  revision: 'current',
  source: 'recorded',
  given: {},
  exchanges: [exchange, exchange],
};

const REGISTER = readDivergences(
  JSON.stringify({
    version: '0.2.96',
    kinds: {
      malformed: { reason: 'r', where: ['status', 'text'], instead: { status: 400 } },
      file: { reason: 'r' },
    },
    // biome-ignore lint/suspicious/noThenProperty: the format's own name for the file afterwards
    scenarios: { s: { 2: { why: 'malformed' }, then: { why: 'file', where: ['file /a'], file: { '/b': 2 } } } },
  }),
  'd.json',
);

const status: Difference = { step: 2, where: 'status', expected: 422n, actual: 400n };
const text: Difference = { step: 2, where: 'text', expected: 'x', actual: 'y' };
const file: Difference = { step: 'then', where: 'file /a', expected: 1n, actual: undefined };

function problems(differences: readonly Difference[], steps: readonly PlayedStep[] = []): readonly string[] {
  return divergenceProblems(REGISTER, 's', scenario, { differences, steps, file: null });
}

describe('a register', () => {
  test('with exactly the differences that occur has no problem', () => {
    expect(problems([status, text, file])).toEqual([]);
  });

  test('lacks a difference that occurs', () => {
    const more: Difference = { step: 1, where: 'body /ok', expected: true, actual: false };
    expect(problems([more, status, text, file])).toEqual(['step 1: body /ok: expected true, found false']);
  });

  test('names one that does not occur', () => {
    expect(problems([status, file])).toEqual(['step 2: text: registered as "malformed", but it does not differ']);
    expect(problems([status, text])).toEqual(['step then: file /a: registered as "file", but it does not differ']);
  });

  test('gives another answer than the one that came', () => {
    const compareWith = () => [{ where: 'status', expected: 400n, actual: 500n }];
    expect(problems([status, text, file], [{ step: 2, exchange, answer: null, compareWith }])).toEqual([
      'step 2: instead of the recording: status: expected 400, found 500',
    ]);
  });

  test('gives another file than the one that came', () => {
    const compareAt = (pointer: string) => [{ where: `file ${pointer}`, expected: 2n, actual: 3n }];
    const played = { differences: [status, text, file], steps: [], file: { compareAt } };
    expect(divergenceProblems(REGISTER, 's', scenario, played)).toEqual([
      'step then: instead of the recording: file /b: expected 2, found 3',
    ]);
  });

  test('names a step that the scenario does not have', () => {
    const short = { ...scenario, exchanges: [exchange] };
    expect(divergenceProblems(REGISTER, 's', short, { differences: [file], steps: [], file: null })).toContain(
      'step 2: registered, but the scenario has no such step',
    );
  });
});

describe('a register that is none', () => {
  const reading = (content: unknown) => () => readDivergences(JSON.stringify(content), 'd.json');

  test('with a step of an unknown kind names the place', () => {
    const content = { version: '1', kinds: {}, scenarios: { s: { 1: { why: 'x' } } } };
    expect(reading(content)).toThrow('d.json: /scenarios/s/1: expected the name of a kind, found "x"');
  });

  test('with a kind that no step names names the place', () => {
    const content = { version: '1', kinds: { x: { reason: 'r', where: [] } }, scenarios: {} };
    expect(reading(content)).toThrow('d.json: /kinds/x: expected a kind that some step names');
  });

  test('with no places for a step names it', () => {
    // biome-ignore lint/suspicious/noThenProperty: the format's own name for the file afterwards
    const content = { version: '1', kinds: { x: { reason: 'r' } }, scenarios: { s: { then: { why: 'x' } } } };
    expect(reading(content)).toThrow('d.json: /scenarios/s/then: expected a list where');
  });
});

describe('a difference between two servers', () => {
  const answering = (isInstead: boolean): PlayedStep => ({
    step: 2,
    exchange,
    answer: null,
    compareWith: () => (isInstead ? [] : [status]),
  });

  test('is explained where one of them answers as a register says', () => {
    expect(isRegistered(REGISTER, 's', status, [answering(false), answering(true)])).toBe(true);
    expect(isRegistered(REGISTER, 's', status, [answering(false), answering(false)])).toBe(false);
    expect(isRegistered(REGISTER, 's', { ...status, step: 1 }, [answering(true)])).toBe(false);
    expect(isRegistered(REGISTER, 'other', status, [answering(true)])).toBe(false);
  });

  test('is explained by its place where a register has no answer', () => {
    expect(isRegistered(REGISTER, 's', { ...file, where: 'file /a/b' }, [])).toBe(true);
    expect(isRegistered(REGISTER, 's', { ...file, where: 'file /ab' }, [])).toBe(false);
  });
});
