import { writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { startKeyway } from '../commands/process.js';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { serveHere } from '../serve/serve-here.js';
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

  it("with the API's or the feed's address says so in one line and exits with 1", async () => {
    const folder = await folderWithFile();
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    for (const [flag, argv] of [
      ['--bind', ['--bind', address]],
      ['--feed-bind', [...API, '--feed-bind', address, '--feed-token', 't']],
    ] as const) {
      const refused = await serveHere([...SERVE, '--ops-bind', address, ...argv, '--log-level', 'error'], { folder });
      const { code } = await refused.ended;
      const lines = (await refused.text()).trim().split('\n');
      expect([code, lines.length]).toEqual([1, 1]);
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({
        level: 'error',
        msg: `${flag} (${address}) and --ops-bind (${address}) are the same address: give one of them another`,
      });
    }
  });
});
