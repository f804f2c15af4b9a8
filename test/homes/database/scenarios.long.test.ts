import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { resolveRevision } from '../../../revisions/index.js';
import { differenceInWords } from '../../../src/lab/format/json-difference.js';
import { scenariosOf } from '../../acceptance/pack.js';
import { stageScenario } from '../../acceptance/stage.js';
import { scenariosFor, textOf } from '../upstream/matrix.js';
import { describeDatabase } from './database.js';
import { OF_FILES, openScenarioDatabase, playAndClose } from './play-over-database.js';

describeDatabase('over a database', () => {
  let database: Awaited<ReturnType<typeof openScenarioDatabase>>;

  beforeAll(async () => {
    database = await openScenarioDatabase();
  });
  afterAll(() => database.close());

  describe.each(['earliest', 'dns', 'current', 'v1'])('a written scenario of %s', (folder) => {
    const scenarios = scenariosOf(folder).filter(({ name }) => !OF_FILES.has(name));

    test.each(scenarios)('$name: $scenario.title', async ({ scenario }) => {
      const differences = await database.play(scenario, scenario.revision);
      expect(differences.map((each) => `step ${each.step}: ${differenceInWords(each)}`)).toEqual([]);
    });
  });

  // What a recording differs in is registered for files; a line without scenarios of its own is played with another's.
  describe.each(REVISIONS)('every scenario of $id', (line) => {
    const scenarios = scenariosFor(line).filter(({ file }) => !OF_FILES.has(basename(file, '.json')));

    test.each(scenarios)('$file is answered as over a file', async ({ scenario }) => {
      const own = resolveRevision(scenario.revision);
      const revision = own.ok && own.revision.id === line.id ? scenario.revision : line.id;
      const overFile = await playAndClose(scenario, await stageScenario(scenario, revision, { files: 'memory' }));
      const overDatabase = await database.play(scenario, revision);
      expect(overDatabase.map(textOf)).toEqual(overFile.map(textOf));
    });
  });
});
