import { describe, expect, test } from 'vitest';
import { divergenceProblems, readDivergences } from '../../src/replay/play/divergences.js';
import { type PlayedFile, type PlayedStep, playScenario } from '../../src/replay/play/play.js';
import { foldersOf, readFixture, scenariosOf } from './pack.js';
import { stageScenario } from './stage.js';

const FOLDERS = foldersOf('recorded').filter((name) => name !== 'divergences');

describe.each(FOLDERS)('a recording of %s', (folder) => {
  const registerFile = `recorded/divergences/${folder}.json`;
  const register = readDivergences(readFixture(registerFile), registerFile);
  const scenarios = scenariosOf(`recorded/${folder}`);

  test.each(scenarios)('$name: answers and file are those of the server, less the register', async ({
    name,
    scenario,
  }) => {
    const staged = await stageScenario(scenario, scenario.revision);
    try {
      const steps: PlayedStep[] = [];
      let file: PlayedFile | null = null;
      const onStep = (step: PlayedStep) => steps.push(step);
      const onFile = (afterwards: PlayedFile) => {
        file = afterwards;
      };
      const differences = await playScenario(scenario, { ...staged, onStep, onFile });
      expect(divergenceProblems(register, name, scenario, { differences, steps, file })).toEqual([]);
    } finally {
      await staged.close();
    }
  });

  test('the register names no scenario that is not there', () => {
    const names = scenarios.map(({ name }) => name);
    expect(Object.keys(register.scenarios).filter((name) => !names.includes(name))).toEqual([]);
    expect(register.version).toBe(folder);
  });
});
