import { describe, expect, test } from 'vitest';
import { formatScenario } from '../../src/replay/format/format.js';
import { differenceInWords } from '../../src/replay/format/json-difference.js';
import { playScenario } from '../../src/replay/play/play.js';
import { scenariosOf } from './pack.js';
import { stageScenario } from './stage.js';

describe.each(['earliest', 'dns', 'current', 'lines'])('a written scenario of %s', (folder) => {
  const scenarios = scenariosOf(folder);

  test.each(scenarios)('$name: $scenario.title', async ({ scenario }) => {
    const staged = await stageScenario(scenario, scenario.revision);
    try {
      const differences = await playScenario(scenario, staged);
      expect(differences.map((each) => `step ${each.step}: ${differenceInWords(each)}`)).toEqual([]);
    } finally {
      await staged.close();
    }
  });

  test.each(scenarios)('$name is formatted as its file says', ({ content, scenario }) => {
    expect(formatScenario(scenario)).toBe(content);
    expect(scenario.source).toBe('spec');
  });
});
