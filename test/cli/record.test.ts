import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readScenario } from '../../src/replay/scenario.js';
import { buildIfOlder } from '../build.js';
import { startLiveServer, TOKEN } from '../replay/live-server.js';
import { runHere } from './context.js';
import { listeningAt, runKeyway, startKeyway } from './process.js';

beforeAll(buildIfOlder, 240_000);

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-record-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('keyway record', () => {
  test('writes a session that keyway replay plays green, on the server and without it', async () => {
    const server = await startLiveServer('current');
    const folder = await emptyFolder();
    const flags = ['--target', server.origin, '--revision', 'current'];
    const running = startKeyway(['record', ...flags, '--out', 'rec'], { folder });
    const url = await listeningAt(running);
    for (const path of ['/server/status', '/users', '/users/foreign-1', '/server/config', '/nothing']) {
      await fetch(`${url}/panel/api${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
    }
    running.child.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.output).toContain('5 exchanges in 1 session\n');
    expect(ended.code).toBe(0);
    const embedded = await runKeyway(['replay', 'rec'], { folder });
    expect(embedded.output).toContain('1 equal, 0 different, 0 skipped');
    const live = await runKeyway(['replay', 'rec', ...flags, '--token', TOKEN], { folder });
    expect(live.output).toContain('1 equal, 0 different, 0 skipped');
  });

  test('makes scenarios out of a HAR file', async () => {
    const folder = await emptyFolder();
    const entry = {
      request: { method: 'GET', url: 'http://127.0.0.1:9/panel/api/audit', headers: [] },
      response: {
        status: 200,
        headers: [{ name: 'content-type', value: 'application/json' }],
        content: { text: '{"ok":true,"data":[]}' },
      },
    };
    await writeFile(join(folder, 'saved.har'), JSON.stringify({ log: { entries: [entry] } }));
    const flags = ['--target', 'http://127.0.0.1:9', '--revision', 'current', '--out', 'out'];
    const ended = await runKeyway(['record', '--from-har', 'saved.har', ...flags], { folder });
    expect(ended.code).toBe(0);
    const [name = ''] = await readdir(join(folder, 'out'));
    const scenario = readScenario(await readFile(join(folder, 'out', name), 'utf8'), name);
    expect(scenario.exchanges).toMatchObject([{ operation: 'listAudit', response: { body: { data: [] } } }]);
    expect((await runKeyway(['replay', 'out'], { folder })).code).toBe(0);
  });

  test('with a port in use or a folder that is a file says so at the start', async () => {
    const server = await startLiveServer('current');
    const folder = await emptyFolder();
    await writeFile(join(folder, 'taken'), '');
    const flags = ['record', '--target', server.origin, '--revision', 'current'];
    const { host } = new URL(server.origin);
    const [port, file] = await Promise.all([
      runKeyway([...flags, '--out', 'rec', '--listen', host], { folder }),
      runKeyway([...flags, '--out', 'taken'], { folder }),
    ]);
    expect(port.complaints).toMatch(/--listen: .*EADDRINUSE/);
    expect(file.complaints).toMatch(/--out .*taken cannot be written/);
    expect([port.code, file.code]).toEqual([2, 2]);
  });

  test.runIf(existsSync('/proc/self'))('into a folder that takes no files says so at the start', async () => {
    const flags = ['record', '--target', 'http://127.0.0.1:1', '--revision', 'current'];
    for (const out of ['/proc', '/proc/keyway/recording']) {
      const ended = await runHere([...flags, '--out', out]);
      expect(ended.complaints).toContain(`--out ${out} cannot be written`);
      expect(ended.code).toBe(2);
    }
  });

  test('without what it needs names every missing flag', async () => {
    const ended = await runKeyway(['record'], { folder: await emptyFolder() });
    for (const flag of ['--target', '--revision', '--out']) expect(ended.complaints).toContain(`${flag}: expected`);
    expect(ended.code).toBe(2);
  });
});
