import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveRevision } from '../../revisions/index.js';
import { readScenarioFiles } from '../../src/lab/play/scenario-files.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { ROOT } from '../clone.js';

const SCENARIO = { title: 't', revision: 'current', source: 'recorded', given: {}, exchanges: [] };

/** A folder `/pack/r` with one scenario, and what stands where its register would. */
async function packWith(register: 'nothing' | 'a folder' | Buffer) {
  const files = createMemoryFiles();
  await files.makeFolder('/pack/r', 0o700);
  await files.makeFolder('/pack/divergences', 0o700);
  await files.create('/pack/r/one.json', Buffer.from(JSON.stringify(SCENARIO)), 0o600);
  if (register === 'a folder') await files.makeFolder('/pack/divergences/r.json', 0o700);
  else if (register !== 'nothing') await files.create('/pack/divergences/r.json', register, 0o600);
  const [found] = await readScenarioFiles(['/pack/r'], files);
  return found;
}

describe('the register beside a folder', () => {
  test('that is not there leaves its scenarios without one', async () => {
    expect(await packWith('nothing')).toMatchObject({ kind: 'scenario', register: null });
  });

  test('that cannot be read breaks its scenarios and says why', async () => {
    const found = await packWith('a folder');
    expect(found).toMatchObject({ kind: 'broken' });
    expect(found?.kind === 'broken' && found.problem).toMatch(
      /its register \/pack\/divergences\/r\.json cannot be read: EISDIR/,
    );
  });

  test('that is none breaks its scenarios and names the place', async () => {
    const found = await packWith(Buffer.from('{"version":1,"kinds":{},"scenarios":{}}'));
    expect(found?.kind === 'broken' && found.problem).toContain('/pack/divergences/r.json: /version: expected a text');
  });
});

describe('the folders that scenarios are read from', () => {
  test('are those that are wanted, what is named itself included', async () => {
    const files = createMemoryFiles();
    for (const folder of ['/pack/0.2.48', '/pack/other', '/alone']) {
      await files.makeFolder(folder, 0o700);
      await files.create(`${folder}/one.json`, Buffer.from(JSON.stringify(SCENARIO)), 0o600);
    }
    const found = await readScenarioFiles(['/pack', '/alone'], files, (name) => name === 'pack' || name === 'other');
    expect(found.map(({ name }) => name)).toEqual(['pack/other/one']);
  });

  test('hold nothing of other revisions in the pack that comes with Keyway where they are named after one', async () => {
    const files = await readScenarioFiles([join(ROOT, 'fixtures')], createFileSystem());
    const revisionOf = (text: string) => {
      const resolved = resolveRevision(text);
      return resolved.ok ? resolved.revision.id : null;
    };
    const placed = files.flatMap((file) => {
      const folder = revisionOf(file.path.split('/').at(-2) ?? '');
      return file.kind === 'broken' || folder === null ? [] : [{ file, folder }];
    });
    expect(placed.length).toBeGreaterThan(300);
    for (const { file, folder } of placed)
      expect(revisionOf(file.scenario.revision), `the revision of ${file.path}`).toBe(folder);
  });
});
