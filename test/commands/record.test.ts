import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readScenario } from '../../src/lab/format/scenario.js';
import { buildIfOlder } from '../build.js';
import { folderForTest } from '../folder-for-test.js';
import { startLiveServer, TOKEN } from '../lab/live-server.js';
import { runHere } from './context.js';
import { listeningAt, startKeyway } from './process.js';

beforeAll(buildIfOlder, 240_000);

describe('keyway record', () => {
  test('writes a session that keyway replay plays green, on the server and without it', async () => {
    const server = await startLiveServer('current');
    const folder = await folderForTest();
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
    const embedded = await runHere(['replay', 'rec'], { folder });
    expect(embedded.output).toContain('1 equal, 0 different, 0 skipped');
    const live = await runHere(['replay', 'rec', ...flags, '--token', TOKEN], { folder });
    expect(live.output).toContain('1 equal, 0 different, 0 skipped');
  });

  test('makes scenarios out of a HAR file', async () => {
    const folder = await folderForTest();
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
    const ended = await runHere(['record', '--from-har', 'saved.har', ...flags], { folder });
    expect(ended.code).toBe(0);
    const [name = ''] = await readdir(join(folder, 'out'));
    const scenario = readScenario(await readFile(join(folder, 'out', name), 'utf8'), name);
    expect(scenario.exchanges).toMatchObject([{ operation: 'listAudit', response: { body: { data: [] } } }]);
    expect((await runHere(['replay', 'out'], { folder })).code).toBe(0);
  });

  /** A saved archive with a page of the panel and a read of the API below each of these web paths. */
  async function savedFrom(...webpaths: readonly string[]) {
    const entry = (path: string, type: string, text: string) => ({
      request: { method: 'GET', url: `http://127.0.0.1:9${path}`, headers: [] },
      response: { status: 200, headers: [{ name: 'content-type', value: type }], content: { text } },
    });
    const folder = await folderForTest();
    const entries = [
      ...(webpaths.length === 0 ? [entry('/', 'text/html', '<title>something else</title>')] : []),
      ...webpaths.flatMap((each) => [
        entry(`${each}/`, 'text/html', '<title>panel</title>'),
        entry(`${each}/api/audit`, 'application/json', '{"ok":true,"data":[]}'),
      ]),
    ];
    await writeFile(join(folder, 'saved.har'), JSON.stringify({ log: { entries } }));
    const record = (target: string, revision = 'current') =>
      runHere(['record', '--from-har', 'saved.har', '--target', target, '--revision', revision, '--out', 'out'], {
        folder,
      });
    return { folder, record };
  }

  test.each([
    'http://127.0.0.1:9',
    'http://127.0.0.1:9/',
    'http://127.0.0.1:9/panel',
  ])('of %s finds the API where it stands, says so, and replays it', async (target) => {
    const { folder, record } = await savedFrom('/deep/secret');
    const ended = await record(target);
    expect(ended).toMatchObject({ code: 0, complaints: '' });
    expect(ended.output).toContain('The API is at /deep/secret/api\n2 exchanges in 1 session\n');
    const replayed = await runHere(['replay', 'out'], { folder });
    expect(replayed.output).toContain('compatible as far as seen: 1 of 1 operations');
    expect(replayed.code).toBe(0);
  });

  test('of a server with several takes the one that the address names, and names the others', async () => {
    const { folder, record } = await savedFrom('/old', '/new');
    const ended = await record('http://127.0.0.1:9/new');
    expect(ended.output).toContain('The API is at /new/api\n');
    expect(ended.complaints).toContain('an API answered at /old/api, too: name it in --target');
    const [name = ''] = await readdir(join(folder, 'out'));
    expect(await readFile(join(folder, 'out', name), 'utf8')).toContain('"path":"/audit"');
  });

  test.each([
    ['nothing of the API', [], 'current', 1, 'nothing of the API was recorded: no exchange shows one, at /panel/api'],
    ['an API that the revision has elsewhere', ['/panel'], 'earliest', 1, 'is earliest what the server speaks?'],
  ] as const)('of %s says so, exits 1 and leaves no folder', async (_, webpaths, revision, code, words) => {
    const { folder, record } = await savedFrom(...webpaths);
    const ended = await record('http://127.0.0.1:9', revision);
    expect(ended.complaints).toContain(words);
    expect(ended.code).toBe(code);
    expect(existsSync(join(folder, 'out'))).toBe(false);
  });

  test('of an archive that is none leaves no folder', async () => {
    const { folder, record } = await savedFrom('/panel');
    await writeFile(join(folder, 'saved.har'), '{"log":{}}');
    const ended = await record('http://127.0.0.1:9');
    expect(ended.complaints).toContain('/log: expected a member entries');
    expect(ended.code).toBe(2);
    expect(existsSync(join(folder, 'out'))).toBe(false);
  });

  test('with a port in use or a folder that is a file says so at the start', async () => {
    const server = await startLiveServer('current');
    const folder = await folderForTest();
    await writeFile(join(folder, 'taken'), '');
    const flags = ['record', '--target', server.origin, '--revision', 'current'];
    const { host } = new URL(server.origin);
    const [port, file] = await Promise.all([
      runHere([...flags, '--out', 'rec', '--listen', host], { folder }),
      runHere([...flags, '--out', 'taken'], { folder }),
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
    const ended = await runHere(['record'], { folder: await folderForTest() });
    for (const flag of ['--target', '--revision', '--out']) expect(ended.complaints).toContain(`${flag}: expected`);
    expect(ended.code).toBe(2);
  });
});
