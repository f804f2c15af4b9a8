import { expect, test } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { differenceInWords } from '../../../src/lab/format/json-difference.js';
import { playScenario } from '../../../src/lab/play/play.js';
import { scenariosOf } from '../../acceptance/pack.js';
import { PATIENT } from '../../acceptance/stage.js';
import { openFront } from './open-front.js';
import { stageInFront } from './stage.js';

/** A server's configuration is written through its API, which keeps neither comments nor spelling. */
const WITH_COMMENTS = 'configuration';

/** Needs a data folder, which this stage lacks; test/own-api/versions.test.ts reads and restores versions in front of a server. */
const OF_DATA_FOLDER = 'versions';

const scenarios = scenariosOf('v1').filter(({ name }) => name !== OF_DATA_FOLDER);

const line = REVISIONS.find(({ id }) => id === '0.3.7');

test.each(scenarios)('$name: $scenario.title, also in front of a server', async ({ name, scenario }) => {
  const staged = await stageInFront(scenario, scenario.revision, line?.reportedVersion ?? '', openFront);
  try {
    const found = await playScenario(scenario, { ...staged, ...PATIENT });
    const words = found.map((each) => `${each.where}: ${differenceInWords(each)}`);
    if (name === WITH_COMMENTS) expect(found.map(({ where }) => where)).toEqual(['file']);
    else expect(words).toEqual([]);
  } finally {
    await staged.close();
  }
});
