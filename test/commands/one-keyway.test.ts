import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { feedStage } from '../feed/stage.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';
import { WHOLE } from '../whole.js';
import { runHere } from './context.js';
import { type Running, startKeyway } from './process.js';

let folder = '';
const running: Running[] = [];
beforeAll(buildIfOlder, 300_000);
beforeEach(async () => {
  folder = await folderForTest();
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
});

const LOCK = '.server.json.keyway-lock';
const api = { enabled: true, bind: '127.0.0.1:0', token: 'api-token' };
const TEXT = JSON.stringify({ mode: 'server', api, access_keys: ['alpha', 'beta'] });

async function serve(...argv: readonly string[]): Promise<Running> {
  const started = startKeyway(['serve', ...argv], { folder });
  running.push(started);
  await started.logged((record) => record.url !== undefined);
  return started;
}

async function end({ child, ended }: Running, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  child.kill(signal);
  await ended;
}

describe('two Keyways on one file', () => {
  beforeEach(async () => {
    await mkdir(join(folder, 'real'));
    await writeFile(join(folder, 'real', 'server.json'), TEXT);
    await symlink('real/server.json', join(folder, 'link.json'));
  });

  if (WHOLE)
    it('through two paths, with two data folders: the second names the first and does not start, whether its folder is there or not', async () => {
      const first = await serve('--config', 'real/server.json');
      const second = ['serve', '--config', 'link.json', '--data-dir', 'other'];
      for (const isThere of [false, true]) {
        if (isThere) await mkdir(join(folder, 'other'));
        const refused = await serveHere(second, { folder });
        const { code } = await refused.ended;
        const output = await refused.text();
        expect([code, output]).toEqual([1, expect.stringContaining(`in use by process ${first.child.pid}`)]);
        expect(output).toContain(join('real', 'server.json'));
        expect(output).not.toContain('--data-dir');
        expect((await readdir(folder)).includes('other')).toBe(isThere);
      }
      expect(await readdir(join(folder, 'other'))).not.toContain('lock');
    });

  it('the lock of one that was killed is taken over, and none is left after a clean end', async () => {
    const first = await serve('--config', 'real/server.json');
    await end(first, 'SIGKILL');
    expect(await readdir(join(folder, 'real'))).toContain(LOCK);
    const second = await serveHere(['serve', '--config', 'link.json', '--data-dir', 'other'], { folder });
    await second.url;
    expect(await readFile(join(folder, 'real', LOCK), 'utf8')).toContain(`"pid":${process.pid},`);
    await second.stop();
    expect((await readdir(join(folder, 'real'))).sort()).toEqual(['server.json', 'server.json.keyway']);
    expect(await readdir(join(folder, 'other'))).not.toContain('lock');
  });

  it('a restore with another data folder than that of the one which serves says so and leaves the file', async () => {
    const stage = await feedStage({ keys: ['alpha'] });
    const run = (...argv: readonly string[]) => runHere([...argv, '--config', 'server.json'], { folder: stage.folder });
    expect((await run('backup', 'state.jsonl')).code).toBe(0);
    const before = await readFile(join(stage.folder, 'server.json'), 'utf8');
    const { code, complaints } = await run('restore', 'state.jsonl', '--data-dir', 'other');
    expect([code, complaints]).toEqual([1, expect.stringContaining('server.json is in use by process ')]);
    expect(complaints).toContain('name the data folder that it was started with');
    expect(await readFile(join(stage.folder, 'server.json'), 'utf8')).toBe(before);
  });
});

if (WHOLE)
  describe('a data folder that is removed while Keyway serves', () => {
    it('is made again, held again and said once; counters are durable in it, also those of before', async () => {
      await writeFile(join(folder, 'server.json'), TEXT);
      const feedArgv = ['--feed-bind', '127.0.0.1:0', '--feed-token', 'feed-token'];
      const argv = ['--config', 'server.json', '--server-host', 'vpn.example', ...feedArgv];
      const data = join(folder, 'server.json.keyway');
      const first = await serve(...argv);
      const { feed } = await first.logged((record) => record.feed !== undefined);
      const report = async (key: string, bytes_down: number) => {
        const answer = await fetch(`${String(feed)}/v1/usage`, {
          method: 'POST',
          headers: { authorization: 'Bearer feed-token', 'content-type': 'application/json' },
          body: JSON.stringify({ entries: [{ access_key: key, bytes_up: 0, bytes_down }] }),
        });
        expect(await answer.json()).toMatchObject({ durable: true });
      };
      await report('alpha', 5);
      // At one stroke: a look of Keyway's in the middle of it would find it removed twice.
      await rename(data, join(folder, 'going'));
      await rm(join(folder, 'going'), { recursive: true });
      const again = (record: Readonly<Record<string, unknown>>) => String(record.msg).includes('made again');
      await first.logged(again);
      expect(await readFile(join(data, 'lock'), 'utf8')).toContain(`"pid":${first.child.pid},`);
      await report('beta', 7);
      const problems = first.log().filter(({ level }) => level === 'warn' || level === 'error');
      expect(problems).toEqual([expect.objectContaining({ level: 'warn', folder: data })]);
      await end(first, 'SIGKILL');
      await (await serveHere(['serve', ...argv], { folder })).url;
      const exported = await runHere(['counters', 'export', '--config', 'server.json'], { folder });
      expect(exported.output).toMatch(/"alpha".*"bytes_down":5,.*"beta".*"bytes_down":7,/s);
    });
  });
