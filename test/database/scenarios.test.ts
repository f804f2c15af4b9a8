import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabaseBackend } from '../../src/database/backend.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { differenceInWords } from '../../src/replay/divergences.js';
import { playScenario } from '../../src/replay/play.js';
import { scenariosOf } from '../acceptance/pack.js';
import { createDatabase, describeDatabase, dropDatabase } from './database.js';
import { emptyDatabase, stageOverDatabase } from './scenario-stage.js';

/** What only a file has: one that is broken, is missing, cannot be written, or is read with its comments. */
const OF_FILES: ReadonlySet<string> = new Set([
  'broken-file-not-overwritten',
  'config-broken',
  'config-replace-broken',
  'rules-write-failure',
  'run-time-only',
  'save-failure',
]);

describeDatabase('over a database', () => {
  let url = '';
  let panel = '';

  beforeAll(async () => {
    panel = await mkdtemp(join(tmpdir(), 'keyway-panel-'));
    await writeFile(
      join(panel, 'index.html'),
      '<!doctype html><title>panel</title><script src="./assets/app.js"></script>\n',
    );
    url = await createDatabase();
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    await (await openDatabaseBackend({ url, clock: systemClock, random: systemRandom, log })).close();
  });
  afterAll(async () => {
    await rm(panel, { recursive: true, force: true });
    await dropDatabase(url);
  });

  describe.each(['earliest', 'dns', 'current'])('a written scenario of %s', (folder) => {
    const scenarios = scenariosOf(folder).filter(({ name }) => !OF_FILES.has(name));

    test.each(scenarios)('$name: $scenario.title', async ({ scenario }) => {
      await emptyDatabase(url);
      const staged = await stageOverDatabase(scenario, scenario.revision, url, panel);
      try {
        const differences = await playScenario(scenario, staged);
        expect(differences.map((each) => `step ${each.step}: ${differenceInWords(each)}`)).toEqual([]);
      } finally {
        await staged.close();
      }
    });
  });
});
