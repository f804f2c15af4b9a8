import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createProcesses } from '../../src/platform/processes.js';
import { feedStage } from '../feed/stage.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';
import { runHere } from './context.js';

const api = { enabled: true, bind: '127.0.0.1:0', username: 'me', token: 'api-token' };
const fileOf = (keys: readonly unknown[], more: object = {}) =>
  JSON.stringify({ mode: 'server', api, ...more, access_keys: keys }, null, 2);
const COUNTERS = '{"access_key":"alpha","bytes_up":5,"bytes_down":6,"connections":7,"created_at":8}';
const listener = {
  protocol: 'api',
  listen: '127.0.0.1',
  port: 0,
  token: 'api-token',
  webpath: 'panel',
  username: 'me',
};
const INBOUNDS = { inbounds: [{ protocol: 'ostp', users: ['alpha'] }, listener] };

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
});

const run = (...argv: readonly string[]) =>
  runHere(argv, { folder, terminal: true, secrets: ['a new one', 'a new one'] });
const file = () => readFile(join(folder, 'server.json'), 'utf8');
const config = ['--config', 'server.json'];

/** A file, with a backup of it, counters to import and a kept version. */
async function prepared(keys: readonly unknown[] = ['alpha', 'beta'], more: object = {}): Promise<void> {
  await writeFile(join(folder, 'server.json'), fileOf(keys, more));
  await writeFile(join(folder, 'counters.jsonl'), COUNTERS);
  expect((await run('backup', 'state.jsonl', ...config)).code).toBe(0);
}

const COMMANDS = [
  ['restore', 'state.jsonl', ...config],
  ['counters', 'import', 'counters.jsonl', ...config],
  ['set-password', ...config],
  ['config', 'adopt', 'server.json', '--add'],
  ['config', 'convert', 'server.json', '--layout', 'access_keys', '--force'],
] as const;

describe('a command that replaces what is stored', () => {
  it('of a folder that a gateway without a socket holds is refused with its process, and changes nothing', async () => {
    await prepared(['alpha', 'beta'], INBOUNDS);
    await feedStage({ folder });
    const before = await file();
    for (const argv of COMMANDS) {
      const { code, complaints } = await run(...argv);
      expect([code, complaints], argv.join(' ')).toEqual([
        1,
        expect.stringMatching(`in use by process ${process.pid}.*It listens for no commands here`),
      ]);
    }
    expect(await file()).toBe(before);
    expect((await run('counters', 'export', ...config)).output).not.toContain('"bytes_up":5');
  });

  it('of a Keyway of an earlier version is refused, which is to be restarted, and changes nothing', async () => {
    await prepared(['alpha', 'beta'], INBOUNDS);
    const data = join(folder, 'server.json.keyway');
    await mkdir(data, { recursive: true, mode: 0o700 });
    await writeFile(join(data, 'lock'), JSON.stringify(await createProcesses().own()));
    const asked: string[] = [];
    const earlier = createServer((incoming, answer) => {
      if (incoming.method !== 'HEAD') asked.push(`${incoming.method} ${incoming.url}`);
      incoming.resume();
      answer.writeHead(404, { 'content-type': 'application/json' }).end('{"ok":false,"error":"not found"}');
    }).listen(join(data, 'keyway.sock'));
    await once(earlier, 'listening');
    onTestFinished(() => void earlier.close());
    const before = await file();
    for (const argv of COMMANDS) {
      const { code, complaints } = await run(...argv);
      expect([code, complaints], argv.join(' ')).toEqual([
        1,
        expect.stringContaining('restart it with this version first'),
      ]);
    }
    expect(new Set(asked)).toEqual(new Set(['GET /replacements']));
    expect(await file()).toBe(before);
    expect((await readdir(data)).sort()).toEqual(['keyway.sock', 'lock']);
  });

  it('is done by the Keyway that serves, live once the command ends, whatever else was asked of it meanwhile', async () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => ({ access_key: `key-${index}`, name: 'n'.repeat(100) }));
    await prepared(keys);
    const saved = await file();
    await writeFile(join(folder, 'server.json'), fileOf(['alpha'], INBOUNDS));
    const served = await serveHere(['serve', ...config, '--bind', '127.0.0.1:0'], { folder });
    const url = `${await served.url}/panel/api`;
    const users = async (): Promise<number> => {
      const answer = await fetch(`${url}/users`, { headers: { authorization: 'Bearer api-token' } });
      return ((await answer.json()) as { data: unknown[] }).data.length;
    };
    expect(await run('config', 'adopt', 'server.json', '--add')).toMatchObject({ code: 0 });
    expect(await file()).not.toContain('access_keys');
    // A state of some megabytes, at once with an import.
    const [restored, imported] = await Promise.all([
      run('restore', 'state.jsonl', ...config),
      run('counters', 'import', 'counters.jsonl', ...config),
    ]);
    expect([restored, imported]).toMatchObject([
      { code: 0, complaints: '' },
      { code: 0, complaints: '' },
    ]);
    expect(await file()).toBe(saved);
    expect(await users()).toBe(20_000);
    expect(await run('set-password', ...config)).toMatchObject({ code: 0, complaints: '' });
    expect(await file()).toContain('"password_hash": "');
    expect(await run('config', 'convert', 'server.json', '--layout', 'inbounds', '--force')).toMatchObject({ code: 0 });
    expect(await file()).toContain('"inbounds"');
    expect(await users()).toBe(20_000);
  });

  it('of another file than the one that is served from the folder is refused, and changes neither', async () => {
    await prepared(['alpha', 'beta'], INBOUNDS);
    const served = await serveHere(['serve', ...config, '--bind', '127.0.0.1:0'], { folder });
    await served.url;
    await copyFile(join(folder, 'server.json'), join(folder, 'other.json'));
    const before = await file();
    for (const argv of COMMANDS) {
      const other = argv.map((word) => (word === 'server.json' ? 'other.json' : word));
      const { code, complaints } = await run(...other, '--data-dir', 'server.json.keyway');
      expect([code, complaints], argv.join(' ')).toEqual([
        1,
        expect.stringMatching(/belongs to .*server\.json, not to/),
      ]);
    }
    expect([await file(), await readFile(join(folder, 'other.json'), 'utf8')]).toEqual([before, before]);
    expect((await run('counters', 'export', ...config)).output).not.toContain('"bytes_up":5');
  });

  it('reaches a Keyway whose data folder has a path that is too long for a socket', async () => {
    const long = join(folder, 'd'.repeat(100));
    await mkdir(long);
    folder = long;
    await prepared();
    const served = await serveHere(['serve', ...config], { folder });
    await served.url;
    const pointer = join(folder, 'server.json.keyway', 'keyway.sock.path');
    const path = await readFile(pointer, 'utf8');
    const before = await file();
    await writeFile(join(folder, 'server.json'), fileOf(['other']));
    expect(await run('restore', 'state.jsonl', ...config)).toMatchObject({ code: 0, complaints: '' });
    expect(await file()).toBe(before);
    await served.stop();
    expect(await readdir(join(folder, 'server.json.keyway'))).not.toContain('keyway.sock.path');
    await expect(readdir(join(path, '..'))).rejects.toThrow('ENOENT');
    // A folder that others may write into leads nowhere.
    const theirs = await folderForTest();
    await mkdir(join(theirs, 'open'), { mode: 0o777 });
    await writeFile(pointer, join(theirs, 'open', 'keyway.sock'));
    const server = createServer(() => expect.unreachable()).listen(join(theirs, 'open', 'keyway.sock'));
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    expect(await run('restore', 'state.jsonl', ...config)).toMatchObject({ code: 0, complaints: '' });
    // Nor does a link that others may have made, though it leads to a folder of our own.
    await mkdir(join(theirs, 'own'), { mode: 0o700 });
    await symlink(join(theirs, 'own'), join(theirs, 'link'));
    await writeFile(pointer, join(theirs, 'link', 'keyway.sock'));
    const own = createServer(() => expect.unreachable()).listen(join(theirs, 'own', 'keyway.sock'));
    await once(own, 'listening');
    onTestFinished(() => void own.close());
    expect(await run('restore', 'state.jsonl', ...config)).toMatchObject({ code: 0, complaints: '' });
  });
});

describe('the calls by which a command replaces what is stored', () => {
  it('are no paths of the API, with or without a credential', async () => {
    await prepared();
    const served = await serveHere(['serve', ...config], { folder });
    const { origin } = new URL(await served.url);
    for (const base of ['', '/panel', '/panel/api', '/panel/keyway/v1'])
      for (const path of ['', '/state', '/counters', '/file'])
        for (const headers of [{}, { authorization: 'Bearer api-token' }]) {
          const method = path === '' ? 'GET' : 'POST';
          const url = `${origin}${base}/replacements${path}`;
          const answer = await fetch(url, { method, headers, ...(path === '' ? {} : { body: COUNTERS }) });
          const body = await answer.text();
          expect([answer.status, body.includes('"ok":true')], `${method} ${url}`).toEqual([
            expect.not.stringMatching(/^2/),
            false,
          ]);
        }
  });

  it('change nothing where their body is cut short, and leave nothing of it', async () => {
    await prepared();
    const served = await serveHere(['serve', ...config], { folder });
    await served.url;
    const before = await file();
    const data = join(folder, 'server.json.keyway');
    const call = request({ socketPath: join(data, 'keyway.sock'), method: 'POST', path: '/replacements/state' });
    call.on('error', () => undefined);
    call.write((await readFile(join(folder, 'state.jsonl'))).subarray(0, 50));
    await expect.poll(() => readdir(data)).toContainEqual(expect.stringMatching(/^request-.*\.tmp$/));
    call.destroy();
    await expect.poll(() => readdir(data)).not.toContainEqual(expect.stringMatching(/^request-/));
    expect(await file()).toBe(before);
  });
});
