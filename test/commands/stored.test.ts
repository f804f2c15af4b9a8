import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FileSystemPort } from '../../src/core/ports.js';
import { readState } from '../../src/homes/file/counters/lines.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { until } from '../feed/stage.js';
import { folderForTest } from '../folder-for-test.js';
import { smallDisk } from '../homes/file/counters/small-disk.js';
import { serveHere } from '../serve/serve-here.js';
import { WHOLE } from '../whole.js';
import { runHere } from './context.js';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
});

const api = { enabled: true, bind: '127.0.0.1:0', token: 'api-token' };
const fileText = (keys: readonly string[]) => JSON.stringify({ mode: 'server', api, access_keys: keys }, null, 2);
const run = (...argv: readonly string[]) => runHere([...argv, '--config', 'server.json'], { folder });
const users = ['alpha', 'beta'];

interface Noted {
  readonly access_key: string;
  readonly note: string | null;
}

interface Serving {
  /** Bytes down of every key of the list. */
  list(): Promise<Readonly<Record<string, string>>>;
  change(method: string, path: string, body?: unknown): Promise<number>;
  report(id: string, entries: readonly (readonly [string, number])[]): Promise<boolean>;
  stop(): Promise<void>;
}

async function serve(): Promise<Serving> {
  const argv = ['serve', '--config', 'server.json', '--feed-bind', '127.0.0.1:0', '--feed-token', 'feed-token'];
  const served = await serveHere(argv, { folder });
  const url = `${await served.url}/panel/api`;
  const feed = (await served.log()).find((record) => record.feed !== undefined)?.feed;
  const ask = (method: string, target: string, token: string, body?: unknown) =>
    fetch(target, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    async list() {
      const text = await (await ask('GET', `${url}/users`, 'api-token')).text();
      const found = [...text.matchAll(/"access_key":"([^"]+)".*?"bytes_down":(\d+)/g)];
      return Object.fromEntries(found.map(([, key = '', bytes = '']) => [key, bytes]));
    },
    change: async (method, path, body) => (await ask(method, `${url}${path}`, 'api-token', body)).status,
    async report(id, entries) {
      const body = {
        report_id: id,
        entries: entries.map(([access_key, bytes_down]) => ({ access_key, bytes_up: 0, bytes_down })),
      };
      const answer = await ask('POST', `${feed}/v1/usage`, 'feed-token', body);
      expect(answer.status).toBe(200);
      return JSON.parse(await answer.text()).repeated;
    },
    async stop() {
      expect((await served.stop()).code).toBe(0);
    },
  };
}

describe('keyway restore', () => {
  const twice = { mode: 'server', api, access_keys: ['alpha', 'alpha'] };
  it.each([
    ['half of a surrogate pair', '{"mode":"server","api":{"token":"x"},"note":"\\ud800"}', 'surrogate'],
    ['a key twice', JSON.stringify(twice), 'a key stands in it twice, at access_keys[0] and access_keys[1]'],
    [
      'a mode that no server has where one starts from the present file',
      fileText(users).replace('"server"', '"client"'),
      'no server would start from it: mode: expected "server"',
    ],
    ['no credentials where the present file has them', '{"mode":"server"}', 'open to everyone'],
  ])('refuses a backup with %s, and changes nothing', async (_what, content, words) => {
    const path = join(folder, 'server.json');
    await writeFile(path, content);
    expect(await run('backup', 'state.jsonl')).toMatchObject({ code: 0 });
    const present = fileText(users).replace('{', '{"listen":"0.0.0.0:50000",');
    await writeFile(path, present);
    const { code, complaints } = await run('restore', 'state.jsonl');
    expect(complaints).toContain(words);
    expect(code).toBe(1);
    expect(await readFile(path, 'utf8')).toBe(present);
  });
});

describe('keyway backup', () => {
  it.each([
    '',
    '{"mode":"server","access_keys":["al',
  ])('of a file that holds %j fails: no restore would take it', async (text) => {
    await writeFile(join(folder, 'server.json'), text);
    const { code, output, complaints } = await run('backup', 'state.jsonl');
    expect([code, output]).toEqual([1, '']);
    expect(complaints).toContain('server.json is no configuration, so that nothing could be restored');
    expect(await readdir(folder)).toEqual(['server.json']);
  });

  it('waits for a server that is writing its file', async () => {
    const path = join(folder, 'server.json');
    await writeFile(path, '');
    const wait = () => writeFile(path, fileText(users));
    const argv = ['backup', 'state.jsonl', '--config', 'server.json'];
    expect(await runHere(argv, { folder, wait })).toMatchObject({ code: 0, complaints: '' });
    await rm(path);
    expect(await run('restore', 'state.jsonl')).toMatchObject({ code: 0 });
    expect(await readFile(path, 'utf8')).toBe(fileText(users));
  });
});

describe('keyway backup and restore', () => {
  it('hold no named token: one that was removed since stays removed, and both say how others are made', async () => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    const tokenNames = async () => {
      const { output } = await run('token', 'list', '--json');
      return JSON.parse(output).map(({ name }: { readonly name: string }) => name);
    };
    await run('token', 'add', 'bot', '--may', 'keys');
    await run('token', 'add', 'lost', '--may', 'keys');
    const made = 'keyway token add NAME --may PRESET';
    const kept = await run('backup', 'state.jsonl');
    expect(kept.output).toContain('2 named tokens');
    expect(kept.output).toContain(made);
    expect(await readFile(join(folder, 'state.jsonl'), 'utf8')).not.toMatch(/bot|lost/);
    await run('token', 'remove', 'lost');
    expect((await run('restore', 'state.jsonl')).output).toContain(made);
    expect(await tokenNames()).toEqual(['bot']);
  });

  it.each([
    ['while a Keyway serves', true],
    ['where none serves', false],
  ])('%s bring the notes of keys back, and leave those of other keys alone', async (_when, isServed) => {
    await writeFile(join(folder, 'server.json'), fileText([...users, 'gamma']));
    const first = await serve();
    const note = async (accessKey: string, text: string | null) => {
      expect(await first.change('PATCH', `/../keyway/v1/keys/${accessKey}`, { note: text })).toBe(200);
    };
    await note('alpha', 'of a shop');
    await note('beta', 'pays in "cash"');
    expect((await run('backup', 'state.jsonl')).output).toContain(', 2 notes of keys\n');
    await note('alpha', null);
    await note('beta', 'other');
    await note('gamma', 'newer');
    if (!isServed) await first.stop();
    const restored = await run('restore', 'state.jsonl');
    expect(restored).toMatchObject({ code: 0, complaints: '', output: expect.stringContaining('and 2 notes') });
    if (!isServed) await serve();
    const { output } = await run('keys', 'list', '--json');
    const noted = JSON.parse(output).map(({ access_key: key, note: text }: Noted) => [key, text]);
    expect(Object.fromEntries(noted)).toEqual({ alpha: 'of a shop', beta: 'pays in "cash"', gamma: 'newer' });
  });

  it('without a note write what an earlier Keyway reads', async () => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    await run('backup', 'state.jsonl');
    expect(await readFile(join(folder, 'state.jsonl'), 'utf8')).toMatch(/^\{"keyway":"state","format":1,/);
  });

  it('while serving bring file, counters and remembered reports back in one moment, exactly', async () => {
    const text = `// mine\n${fileText(users)}\n`;
    await writeFile(join(folder, 'server.json'), text);
    const server = await serve();
    await server.report('before', [
      ['alpha', 5],
      ['beta', 7],
    ]);
    expect(await run('backup', 'state.jsonl')).toMatchObject({ code: 0, complaints: '' });
    await server.report('after', [['alpha', 100]]);
    await server.change('DELETE', '/users/beta');
    await server.change('POST', '/users', { access_key: 'gamma' });
    await server.report('gamma', [['gamma', 9]]);
    expect(await run('restore', 'state.jsonl')).toMatchObject({ code: 0, complaints: '' });
    expect(await server.list()).toEqual({ beta: '7', alpha: '5' });
    expect(await readFile(join(folder, 'server.json'), 'utf8')).toBe(text);
    expect(await server.report('before', [['alpha', 5]])).toBe(true);
    expect(await server.report('after', [['alpha', 100]])).toBe(false);
    // What left by the restore waits for its key.
    await server.change('PUT', '/server/config', JSON.parse(fileText([...users, 'gamma'])));
    expect(await server.list()).toEqual({ alpha: '105', gamma: '9', beta: '7' });
    await server.stop();
    expect(await (await serve()).list()).toEqual({ alpha: '105', gamma: '9', beta: '7' });
  });

  if (WHOLE)
    it('a backup under a stream of reports and changes of keys has every report whole', async () => {
      const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
      await writeFile(join(folder, 'server.json'), fileText(keys));
      const server = await serve();
      let going = true;
      let sent = 0;
      const reporting = (async () => {
        for (; going; sent += 1)
          await server.report(
            `r${sent}`,
            keys.map((key) => [key, 1] as const),
          );
      })();
      const changing = (async () => {
        for (let i = 0; going; i += 1)
          await server.change(i % 2 === 0 ? 'POST' : 'DELETE', i % 2 === 0 ? '/users' : '/users/extra', {
            access_key: 'extra',
          });
      })();
      for (let i = 0; i < 5; i += 1) {
        const least = sent + 1;
        await until(() => sent >= least);
        // Within this process: while another one starts, thousands of reports would be sent.
        expect((await run('backup', `state-${i}.jsonl`)).code).toBe(0);
        const { counters, reports } = await readState([await readFile(join(folder, `state-${i}.jsonl`))]);
        const bytes = new Set(
          [...counters].filter(({ accessKey }) => accessKey !== 'extra').map(({ bytesDown }) => Number(bytesDown)),
        );
        expect([...bytes]).toHaveLength(1);
        expect(reports?.length).toBe([...bytes][0]);
        expect(reports?.length).toBeGreaterThanOrEqual(least);
      }
      going = false;
      await Promise.all([reporting, changing]);
    });

  it('restores where no Keyway serves, also a configuration file that is gone or broken', async () => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    const server = await serve();
    await server.report('r', [['alpha', 5]]);
    await server.stop();
    expect((await run('backup', 'state.jsonl')).code).toBe(0);
    for (const present of [null, '{ broken', fileText([])]) {
      await rm(join(folder, 'server.json'));
      if (present !== null) await writeFile(join(folder, 'server.json'), present);
      expect(await run('restore', 'state.jsonl')).toMatchObject({ code: 0, complaints: '' });
      expect(await readFile(join(folder, 'server.json'), 'utf8')).toBe(fileText(users));
    }
    expect(await (await serve()).list()).toEqual({ alpha: '5', beta: '0' });
  });

  it('a second backup overwrites nothing', async () => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    expect((await run('backup', 'state.jsonl')).code).toBe(0);
    expect(await run('backup', 'state.jsonl')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('exists'),
    });
  });
});

describe('keyway restore', () => {
  async function madeBackup(): Promise<string> {
    const text = fileText(users);
    await writeFile(join(folder, 'server.json'), text);
    const counters = '{"access_key":"alpha","bytes_up":5,"bytes_down":6,"connections":7,"created_at":8}';
    await writeFile(join(folder, 'counters.jsonl'), counters);
    expect((await run('counters', 'import', 'counters.jsonl')).code).toBe(0);
    expect((await run('backup', 'state.jsonl')).code).toBe(0);
    expect((await stat(join(folder, 'state.jsonl'))).mode & 0o777).toBe(0o600);
    return text;
  }

  if (WHOLE)
    it('and backup hold no more of what they write and read than a piece at a time', async () => {
      const keys = Array.from({ length: 20_000 }, (_, index) => ({
        access_key: `key-${index}`,
        name: 'n'.repeat(100),
      }));
      const text = JSON.stringify({ mode: 'server', api, access_keys: keys });
      await writeFile(join(folder, 'server.json'), text);
      const system = createFileSystem();
      const isOurs = (path: string) => /state\.jsonl$|request-/.test(path);
      let most = 0;
      let written = 0;
      const taking = (path: string, content: Buffer) => {
        if (!isOurs(path)) return;
        most = Math.max(most, content.length);
        written += content.length;
      };
      const fileSystem: typeof system = {
        ...system,
        read: async (path, limit) => {
          const content = await system.read(path, limit);
          taking(path, content);
          return content;
        },
        create: (path, content, mode) => {
          taking(path, content);
          return system.create(path, content, mode);
        },
        append: (path, content) => {
          taking(path, content);
          return system.append(path, content);
        },
      };
      const here = (command: string) =>
        runHere([command, 'state.jsonl', '--config', 'server.json'], { folder, fileSystem });
      expect(await here('backup')).toMatchObject({ code: 0, complaints: '' });
      await writeFile(join(folder, 'server.json'), fileText([]));
      expect(await here('restore')).toMatchObject({ code: 0, complaints: '' });
      expect(await readFile(join(folder, 'server.json'), 'utf8')).toBe(text);
      expect(written).toBeGreaterThan(2 * text.length);
      expect(most).toBeLessThan(text.length / 4);
    });

  it('into another folder, which need not exist, makes file and counters there what the backup holds', async () => {
    const text = await madeBackup();
    const elsewhere = ['--config', 'moved/here/other.json'];
    expect(await runHere(['restore', 'state.jsonl', ...elsewhere], { folder })).toMatchObject({
      code: 0,
      complaints: '',
    });
    expect(await readFile(join(folder, 'moved/here/other.json'), 'utf8')).toBe(text);
    const exported = await runHere(['counters', 'export', ...elsewhere], { folder });
    expect(exported.output).toContain(
      '"access_key":"alpha","bytes_up":5,"bytes_down":6,"connections":7,"created_at":8}',
    );
    expect((await stat(join(folder, 'moved/here/other.json'))).mode & 0o777).toBe(0o600);
  });

  it('a kept version that is damaged hides no other in config list, and is called so', async () => {
    await writeFile(join(folder, 'server.json'), fileText(['alpha', 'beta']));
    for (const key of ['alpha', 'beta']) expect(await run('keys', 'remove', key)).toMatchObject({ code: 0 });
    const versions = join(folder, 'server.json.keyway/versions');
    const [oldest = ''] = await readdir(versions);
    const id = oldest.replace('.gz', '');
    await writeFile(join(versions, oldest), 'damaged');
    const listed = await run('config', 'list');
    expect(listed).toMatchObject({ code: 0, complaints: '' });
    const rows = listed.output.trim().split('\n').slice(1);
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.filter((row) => row.includes('not readable'))).toEqual([expect.stringContaining(id)]);
    const { code, complaints } = await run('config', 'restore', id);
    expect([code, complaints]).toEqual([1, expect.stringContaining(`${oldest} is damaged: `)]);
  });

  it('--in-place over a broken file that cannot be renamed over puts the backup into it and keeps what was there', async () => {
    const text = await madeBackup();
    const path = join(folder, 'server.json');
    await writeFile(path, '{ broken');
    const real = createFileSystem();
    const busy = () => Promise.reject(Object.assign(new Error('EBUSY: resource busy or locked'), { code: 'EBUSY' }));
    const fileSystem: FileSystemPort = {
      ...real,
      rename: (from, to) => (to === path ? busy() : real.rename(from, to)),
    };
    const argv = ['restore', 'state.jsonl', '--config', 'server.json'];
    const refused = await runHere(argv, { folder, fileSystem });
    expect([refused.code, refused.complaints]).toEqual([1, expect.stringContaining('EBUSY')]);
    expect(await readFile(path, 'utf8')).toBe('{ broken');
    const { ino } = await stat(path);
    expect(await runHere([...argv, '--in-place'], { folder, fileSystem })).toMatchObject({ code: 0, complaints: '' });
    expect([await readFile(path, 'utf8'), (await stat(path)).ino]).toEqual([text, ino]);
    const versions = join(`${path}.keyway`, 'versions');
    const kept = await Promise.all((await readdir(versions)).map((name) => readFile(join(versions, name))));
    expect(kept.map((bytes) => gunzipSync(bytes).toString())).toContain('{ broken');
    const exported = await runHere(['counters', 'export', '--config', 'server.json'], { folder, fileSystem });
    expect(exported.output).toContain('"access_key":"alpha","bytes_up":5,"bytes_down":6');
  });

  it('of a backup that a later Keyway has made, or that is damaged, names the line and changes nothing', async () => {
    await madeBackup();
    const whole = await readFile(join(folder, 'state.jsonl'), 'utf8');
    await writeFile(join(folder, 'server.json'), fileText(['other']));
    for (const [text, complaint] of [
      [
        whole.replace('"format":1', '"format":4'),
        ': line 1: expected a format up to 3, found 4: use the Keyway that wrote it',
      ],
      [whole.replace('"bytes_up":5', '"bytes_up":-5'), ': line 3: bytes_up: expected an unsigned 64-bit integer'],
      [whole.replace('"bytes_up":5', '"bytes_up":6'), ': line 6: the file is damaged or not whole'],
      [whole.split('\n').slice(0, 3).join('\n'), ': line 3: the file is damaged or not whole'],
      [whole.slice(0, -5), ': line '],
      [whole.replace('"reports"', '"reportz"'), ': line '],
      ['x', ' is no backup that "keyway backup" wrote: line 1: '],
      ['', ': the file is empty'],
      [whole.split('\n').slice(1).join('\n'), ': line 1: expected the first line of a Keyway backup'],
    ] as const) {
      await writeFile(join(folder, 'broken.jsonl'), text);
      const { code, complaints } = await run('restore', 'broken.jsonl');
      expect([code, complaints], text).toEqual([
        1,
        expect.stringContaining(`keyway restore: broken.jsonl${complaint}`),
      ]);
    }
    const missing = await run('restore', 'missing.jsonl');
    expect(missing.complaints).toMatch(/missing\.jsonl cannot be read: No such file or directory \(ENOENT\)\n$/);
    expect(await readFile(join(folder, 'server.json'), 'utf8')).toBe(fileText(['other']));
    expect(await readdir(join(folder, 'server.json.keyway'))).not.toContainEqual(expect.stringMatching(/^request-/));
  });

  if (WHOLE)
    it('has nothing to do with half a file: a backup waits while it is being overwritten in place', async () => {
      await madeBackup();
      const copy = join(folder, 'server.json.keyway', 'in-place-copy');
      await writeFile(copy, 'what was there before');
      const refused = await run('backup', 'second.jsonl');
      expect([refused.code, refused.complaints]).toEqual([1, expect.stringContaining('a write of it was interrupted')]);
      await rm(copy);
      expect((await run('backup', 'second.jsonl')).code).toBe(0);
    });

  it('and backup leave nothing half-done on a full disk', async () => {
    await madeBackup();
    const disk = await smallDisk();
    await disk.fill();
    const here = (argv: readonly string[]) =>
      runHere([...argv, '--config', 'server.json'], { folder, fileSystem: disk.fileSystem });
    const backup = await here(['backup', join(disk.folder, 'state.jsonl')]);
    expect([backup.code, backup.complaints]).toEqual([1, expect.stringContaining('No space left on device (ENOSPC)')]);
    const restore = await here(['restore', 'state.jsonl', '--data-dir', join(disk.folder, 'data')]);
    expect([restore.code, restore.complaints]).toEqual([
      1,
      expect.stringContaining('No space left on device (ENOSPC)'),
    ]);
    const left = (await readdir(disk.folder, { recursive: true })).filter((name) => /state|request/.test(name));
    expect(left).toEqual([]);
    expect(await readFile(join(folder, 'server.json'), 'utf8')).toBe(fileText(users));
  });
});

describe('keyway counters', () => {
  const line = (key: string, bytes: bigint) =>
    `{"access_key":"${key}","bytes_up":${bytes},"bytes_down":${bytes},"connections":1,"created_at":7}`;

  it('export what import has taken over, exactly, also while serving', async () => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    const lines = [line('alpha', 2n ** 64n - 1n), line('beta', 2n ** 53n + 1n)];
    await writeFile(join(folder, 'counters.jsonl'), `${lines.join('\n')}\n\n`);
    expect(await run('counters', 'import', 'counters.jsonl')).toMatchObject({ code: 0, complaints: '' });
    expect((await run('counters', 'export')).output).toBe(`${lines.join('\n')}\n`);
    const server = await serve();
    expect(await server.list()).toEqual({ alpha: '18446744073709551615', beta: '9007199254740993' });
    await writeFile(join(folder, 'counters.jsonl'), line('beta', 3n));
    expect((await run('counters', 'import', 'counters.jsonl')).code).toBe(0);
    expect(await server.list()).toEqual({ alpha: '18446744073709551615', beta: '3' });
    expect((await run('counters', 'export')).output).toBe(`${lines[0]}\n${line('beta', 3n)}\n`);
  });

  it('without a configuration file live in the data folder alone', async () => {
    await writeFile(join(folder, 'counters.jsonl'), line('alpha', 7n));
    const here = (...argv: readonly string[]) => runHere([...argv, '--no-config', '--data-dir', 'data'], { folder });
    expect(await here('counters', 'import', 'counters.jsonl')).toMatchObject({ code: 0, complaints: '' });
    expect((await here('counters', 'export')).output).toMatch(
      /^{"access_key":"alpha","bytes_up":7,.*"left_at":\d+}\n$/,
    );
    expect(await here('backup', 'state.jsonl')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('there is no configuration file: "keyway counters export" has all there is'),
    });
  });

  it('without a configuration file and a data folder are nowhere, whatever is asked for', async () => {
    for (const argv of [
      ['backup', 'state.jsonl'],
      ['restore', 'state.jsonl'],
      ['set-password'],
      ['counters', 'export'],
    ])
      expect(await runHere([...argv, '--no-config'], { folder })).toMatchObject({
        code: 2,
        complaints: expect.stringContaining('without a configuration file and --data-dir nothing is stored'),
      });
  });

  it('of a file that does not exist are an error, for exports and backups', async () => {
    const missing = ['--config', 'missing.json'];
    const exported = await runHere(['counters', 'export', ...missing], { folder });
    expect([exported.code, exported.output]).toEqual([1, '']);
    expect(exported.complaints).toMatch(
      /there are no counters: .*missing\.json and .*missing\.json\.keyway do not exist/,
    );
    const backup = await runHere(['backup', 'state.jsonl', ...missing], { folder });
    expect([backup.code, backup.complaints]).toEqual([
      1,
      expect.stringMatching(
        /The configuration file .*missing\.json cannot be read: No such file or directory \(ENOENT\)/,
      ),
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('import of keys that are not registered keeps their counters for them', async () => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    await writeFile(join(folder, 'counters.jsonl'), line('gamma', 3n));
    await run('counters', 'import', 'counters.jsonl');
    expect((await run('counters', 'export')).output).toMatch(/"access_key":"gamma".*"left_at":\d+}/);
    await writeFile(join(folder, 'server.json'), fileText(['gamma']));
    expect(await (await serve()).list()).toEqual({ gamma: '3' });
  });

  it.each([
    ['{', 'line 2: unexpected end of input'],
    ['[]', 'line 2: expected a JSON object'],
    [line('', 1n), 'line 2: access_key: expected a string that is not empty'],
    [line('x', 2n ** 64n), 'line 2: bytes_up: expected an unsigned 64-bit integer'],
    [line('x', -1n), 'line 2: bytes_up: expected an unsigned 64-bit integer'],
    [line('alpha', 1n), 'line 2: "alpha" comes a second time'],
    [line('x', 1n).replace('7}', '-7}'), 'line 2: created_at: expected milliseconds'],
  ])('import of %s is refused with its line, and none of the others is taken over', async (bad, complaint) => {
    await writeFile(join(folder, 'server.json'), fileText(users));
    await writeFile(join(folder, 'counters.jsonl'), `${line('alpha', 1n)}\n${bad}\n`);
    expect(await run('counters', 'import', 'counters.jsonl')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining(complaint),
    });
    expect((await run('counters', 'export')).output).toBe('');
  });
});
