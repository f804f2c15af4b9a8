import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { resolveRevision } from '../../../revisions/index.js';
import { differenceInWords } from '../../../src/replay/format/json-difference.js';
import type { Scenario } from '../../../src/replay/format/scenario.js';
import { type Difference, type PlayOptions, playScenario } from '../../../src/replay/play/play.js';
import { scenariosOf } from '../../acceptance/pack.js';
import { stageScenario } from '../../acceptance/stage.js';
import { scenariosFor, textOf } from '../upstream/matrix.js';
import { createDatabase, describeDatabase, dropDatabase } from './database.js';
import { emptyDatabase, stageOverDatabase } from './scenario-stage.js';

/**
 * What only a file has: one that is broken, is missing, cannot be written, or is read with its comments. And an object with
 * its key alone: a file has it as a text once it was written, a document here is what it was put as where keys are the same.
 */
const OF_FILES: ReadonlySet<string> = new Set([
  'broken-file-not-overwritten',
  'config-broken',
  'config-replace-broken',
  'configuration-none',
  'objects-back',
  'rules-write-failure',
  'run-time-only',
  'save-failure',
  'write-failure',
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
  });
  afterAll(async () => {
    await rm(panel, { recursive: true, force: true });
    await dropDatabase(url);
  });

  type Staged = PlayOptions & { close(): Promise<void> };

  async function play(scenario: Scenario, staged: Staged): Promise<readonly Difference[]> {
    try {
      return await playScenario(scenario, staged);
    } finally {
      await staged.close();
    }
  }

  async function playHere(scenario: Scenario, revision: string): Promise<readonly Difference[]> {
    await emptyDatabase(url);
    return play(scenario, await stageOverDatabase(scenario, revision, url, panel));
  }

  // Those of `earliest` are played with every other line's in the soak.
  describe.each(['dns', 'current', 'v1'])('a written scenario of %s', (folder) => {
    const scenarios = scenariosOf(folder).filter(({ name }) => !OF_FILES.has(name));

    test.each(scenarios)('$name: $scenario.title', async ({ scenario }) => {
      const differences = await playHere(scenario, scenario.revision);
      expect(differences.map((each) => `step ${each.step}: ${differenceInWords(each)}`)).toEqual([]);
    });
  });

  // The soak's. What a recording differs in is registered for files; a line without scenarios of its own is played with another's.
  const lines = process.env.DATABASE_SCENARIOS === 'all' ? REVISIONS : [];
  describe.each(lines)('every scenario of $id', (line) => {
    const scenarios = scenariosFor(line).filter(({ file }) => !OF_FILES.has(basename(file, '.json')));

    test.each(scenarios)('$file is answered as over a file', async ({ scenario }) => {
      const own = resolveRevision(scenario.revision);
      const revision = own.ok && own.revision.id === line.id ? scenario.revision : line.id;
      const overFile = await play(scenario, await stageScenario(scenario, revision, { files: 'memory' }));
      const overDatabase = await playHere(scenario, revision);
      expect(overDatabase.map(textOf)).toEqual(overFile.map(textOf));
    });
  });
});
