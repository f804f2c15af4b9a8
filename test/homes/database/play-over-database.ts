import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scenario } from '../../../src/lab/format/scenario.js';
import { type Difference, type PlayOptions, playScenario } from '../../../src/lab/play/play.js';
import { PATIENT } from '../../acceptance/stage.js';
import { createDatabase, dropDatabase } from './database.js';
import { emptyDatabase, stageOverDatabase } from './scenario-stage.js';

/**
 * Scenarios of what only a file has: one that is broken, is missing, cannot be written, or is read with its comments. And of an object with
 * its key alone: a file has it as a text once it was written, a document here is what it was put as where keys are the same. And of kept
 * versions: here they have those of the scenarios before.
 */
export const OF_FILES: ReadonlySet<string> = new Set([
  '0.4.6-dns-unwritable',
  '0.4.7-dns-unwritable',
  'broken-file-not-overwritten',
  'config-broken',
  'config-replace-broken',
  'configuration-none',
  'objects-back',
  'rules-write-failure',
  'run-time-only',
  'save-failure',
  'versions',
  'write-failure',
]);

export async function playAndClose(
  scenario: Scenario,
  staged: PlayOptions & { close(): Promise<void> },
): Promise<readonly Difference[]> {
  try {
    return await playScenario(scenario, { ...staged, ...PATIENT });
  } finally {
    await staged.close();
  }
}

/** Opens a database on which scenarios are played one after another, each from its own given state. */
export async function openScenarioDatabase() {
  const panel = await mkdtemp(join(tmpdir(), 'keyway-panel-'));
  await writeFile(
    join(panel, 'index.html'),
    '<!doctype html><title>panel</title><script src="./assets/app.js"></script>\n',
  );
  const url = await createDatabase();
  return {
    async play(scenario: Scenario, revision: string): Promise<readonly Difference[]> {
      await emptyDatabase(url);
      return playAndClose(scenario, await stageOverDatabase(scenario, revision, url, panel));
    },
    async close() {
      await rm(panel, { recursive: true, force: true });
      await dropDatabase(url);
    },
  };
}
