import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { packEvidence } from '../../src/commands/evidence.js';
import { lineOf } from '../../src/commands/replay/settings.js';
import type { Exchange, Scenario } from '../../src/lab/format/scenario.js';
import type { DivergenceRegister } from '../../src/lab/play/divergences.js';
import { evidenceOf, sharesOf } from '../../src/lab/play/evidence.js';
import type { ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { createFileSystem } from '../../src/platform/file-system.js';

function step(operation: string, status = 200): Exchange {
  return { operation, request: { method: 'GET', path: '/' }, response: { status } };
}

function file(scenario: Partial<Scenario>, register: DivergenceRegister | null = null): ScenarioFile {
  const whole: Scenario = { title: 't', revision: 'current', source: 'spec', given: {}, exchanges: [], ...scenario };
  return { kind: 'scenario', name: 'pack/one', path: '/pack/one.json', scenario: whole, register };
}

/** The evidence for one operation of one line by these files. */
function found(files: readonly ScenarioFile[], operation: string, id: string) {
  const all = evidenceOf(REVISIONS, files, lineOf);
  return all.find(({ subject, line }) => subject.name === operation && line.id === id);
}

describe('what an operation of a line rests on', () => {
  it('is inferred where no scenario of the line shows it', () => {
    const other = file({ revision: 'earliest', exchanges: [step('getStatus')] });
    expect(found([other], 'getStatus', 'current')).toMatchObject({ grounds: [], played: 0, divergences: [] });
  });

  it('is the source of each scenario that shows it at work, recordings first', () => {
    const exchanges = [step('getStatus')];
    const files = [
      file({ exchanges, source: 'facts' }),
      file({ exchanges }),
      file({ exchanges: [...exchanges, ...exchanges], source: 'recorded', serverVersion: '0.2.96' }),
    ];
    expect(found(files, 'getStatus', 'current')).toMatchObject({ grounds: ['recorded', 'spec', 'facts'], played: 4 });
  });

  it('is no refusal, though its step is played', () => {
    const files = [file({ exchanges: [step('getStatus', 401)] })];
    expect(found(files, 'getStatus', 'current')).toMatchObject({ grounds: [], played: 1 });
  });

  it('is a refusal for paths that nobody serves', () => {
    expect(found([file({ exchanges: [step('unmatched', 404)] })], 'unmatched', 'current')?.grounds).toEqual(['spec']);
  });

  it('is of the line whose server answered, whatever revision a recording names', () => {
    const exchanges = [step('getStatus')];
    const files = [file({ exchanges, source: 'recorded', revision: 'current', serverVersion: '0.3.21' })];
    expect(found(files, 'getStatus', '0.3.7')?.grounds).toEqual(['recorded']);
    expect(found(files, 'getStatus', 'current')?.grounds).toEqual([]);
  });

  it('is not asked of a line that does not serve it', () => {
    expect(found([file({ exchanges: [step('getRules')] })], 'getRules', 'earliest')).toBeUndefined();
  });

  it('has the registered reasons of its own steps, and the file those of what stands in it afterwards', () => {
    // biome-ignore lint/suspicious/noThenProperty: the format's own name
    const afterwards = { then: { why: 'b' } };
    const register: DivergenceRegister = {
      version: '0.2.96',
      kinds: { a: { reason: 'because of a', where: ['status'] }, b: { reason: 'because of b', where: ['file'] } },
      scenarios: { one: { 3: { why: 'a' }, ...afterwards }, two: { 1: { why: 'b' } } },
    };
    const exchanges = [step('getStatus'), { settle: true as const }, step('getUser')];
    // biome-ignore lint/suspicious/noThenProperty: the format's own name
    const files = [file({ source: 'recorded', exchanges, then: { config: {} } }, register)];
    const divergencesOf = (operation: string) => found(files, operation, 'current')?.divergences;
    expect(divergencesOf('getStatus')).toEqual([]);
    expect(divergencesOf('getUser')).toEqual(['because of a']);
    expect(divergencesOf('file')).toEqual(['because of b']);
  });
});

describe('the share of a line', () => {
  it('counts operations by each of their grounds, and nothing that is no operation', () => {
    const files = [
      file({ exchanges: [step('getStatus'), step('cors'), step('getUser', 400)] }),
      file({ exchanges: [step('getStatus')], source: 'recorded' }),
    ];
    const share = sharesOf(REVISIONS, evidenceOf(REVISIONS, files, lineOf)).find(({ line }) => line.id === 'current');
    expect(share).toMatchObject({ by: { recorded: 1, spec: 1, facts: 0 }, played: 2, diverging: 0 });
    expect(share?.inferred).toBe((share?.operations ?? 0) - 1);
  });
});

describe('the pack', () => {
  it('has recordings of the lines whose record names a server that was recorded, and of no others', async () => {
    const evidence = await packEvidence({ folder: '/', fileSystem: createFileSystem() });
    const recorded = sharesOf(REVISIONS, evidence).filter(({ by }) => by.recorded > 0);
    expect(recorded.map(({ line }) => line.id)).toEqual(
      REVISIONS.filter(({ recordedFrom }) => recordedFrom !== null).map(({ id }) => id),
    );
  });
});
