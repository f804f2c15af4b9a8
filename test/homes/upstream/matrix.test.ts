import { expect, test } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { LOSSES } from '../../../src/client/losses.js';
import { createGateway } from '../../../src/index.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { SEED } from '../../seed.js';
import { apiOf, CREDENTIALS } from '../../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { someOf } from '../../whole.js';
import { matrixText, writeMatrix } from './matrix-report.js';
import { playCells, sampleOf } from './matrix-run.js';
import { openFrontBackend } from './open-front.js';

const ONLINE = LOSSES.filter(({ member }) => member === 'online');

const isWhole = process.env.MATRIX === 'all';
const LINES = isWhole ? REVISIONS : someOf(REVISIONS, 1);

test(`${isWhole ? 'every scenario' : `a sample of scenarios (TEST_SEED=${SEED})`} of every revision, in front of ${LINES.map(({ id }) => id).join(', ')}: the differences are exactly the losses`, async () => {
  const results = await playCells(LINES, isWhole ? () => true : sampleOf(SEED));
  if (isWhole) {
    process.stdout.write(`${matrixText(results)}\n`);
    await writeMatrix(results);
  }
  expect(results.unlisted).toEqual([]);
  // Each one that shows on the wire has to occur wherever it is of the line; what no scenario shows is shown below.
  const ofScenarios = LOSSES.filter((loss) => loss.shownBy === 'wire' && !ONLINE.includes(loss));
  const missing = LINES.flatMap((line) =>
    ofScenarios
      .filter((loss) => loss.of(line) && results.occurred(line, loss) === 0)
      .map(({ operation, member, sentence }) => `${line.id}: ${operation} ${member}: ${sentence}`),
  );
  expect(missing).toEqual([]);
}, 1_800_000);

/** No scenario has keys that somebody else makes in bulk. */
test.each(
  someOf(
    REVISIONS.filter((line) => ONLINE.some((loss) => loss.of(line))),
    1,
  ),
)('in front of $id a key that others made in bulk counts as online, where one with counters does', async (line) => {
  const standIn = await standInOf(line.reportedVersion, LOSES_NOTHING);
  const [key = ''] = (await apiOf(standIn)('POST', '/users/bulk', { count: 1 })).data as readonly string[];
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock: systemClock,
    dataFolder: null,
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const northbound = REVISIONS.filter((each) => ONLINE.every((loss) => loss.shows?.(each) === true));
  const mounts = northbound.map(({ id }) => ({ revision: id, webpath: id }));
  for (const mount of mounts) {
    const app = await createGateway({ mounts: [mount], backend });
    for (const path of [`/users/${key}`, '/users']) {
      const { data } = (await app.inject(`${app.keyway.mounts[0]?.api}${path}`)).json();
      const found = Array.isArray(data) ? data.find(({ access_key }) => access_key === key) : data;
      expect(found).toMatchObject({ access_key: key, online: true });
    }
  }
  await backend.close();
});
