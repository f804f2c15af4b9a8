import { afterAll, beforeAll, expect, test } from 'vitest';
import { differenceInWords } from '../../../src/lab/format/json-difference.js';
import { scenariosOf } from '../../acceptance/pack.js';
import { describeDatabase } from './database.js';
import { OF_FILES, openScenarioDatabase } from './play-over-database.js';

/** Ten written scenarios, evenly taken from all of them; the others are played by `npm run test:full`. */
const written = ['earliest', 'dns', 'current', 'v1']
  .flatMap((folder) => scenariosOf(folder))
  .filter(({ name }) => !OF_FILES.has(name));
const ten = Array.from({ length: 10 }, (_, index) => written[Math.floor((index * written.length) / 10)]).flatMap(
  (packed) => packed ?? [],
);

describeDatabase('over a database', () => {
  let database: Awaited<ReturnType<typeof openScenarioDatabase>>;

  beforeAll(async () => {
    database = await openScenarioDatabase();
  });
  afterAll(() => database.close());

  test.each(ten)('a written scenario is answered as its file says: $file', async ({ scenario }) => {
    const differences = await database.play(scenario, scenario.revision);
    expect(differences.map((each) => `step ${each.step}: ${differenceInWords(each)}`)).toEqual([]);
  });
});
