import { writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { startKeyway } from '../commands/process.js';
import { folderForTest } from '../folder-for-test.js';
import { configurationOf } from './stage.js';

beforeAll(buildIfOlder, 300_000);

async function folderWithFile(): Promise<string> {
  const folder = await folderForTest();
  await writeFile(`${folder}/server.json`, configurationOf({ access_keys: ['a'] }));
  return folder;
}

const SERVE = ['serve', '--config', 'server.json'];
const API = ['--bind', '127.0.0.1:0'];

describe('keyway serve --ops-bind', () => {
  it('listens before the API does, and answers its three paths', async () => {
    const running = startKeyway([...SERVE, ...API, '--ops-bind', '127.0.0.1:0'], { folder: await folderWithFile() });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    const { ops } = await running.logged((record) => 'ops' in record);
    await running.logged((record) => 'url' in record);
    const order = running.log().flatMap((record) => ['ops', 'url'].filter((member) => member in record));
    expect(order).toEqual(['ops', 'url']);
    const answers = await Promise.all(
      ['readyz', 'healthz', 'metrics'].map(async (path) => (await fetch(`${ops}/${path}`)).status),
    );
    expect(answers).toEqual([200, 200, 200]);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});
