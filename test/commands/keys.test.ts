import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { planImport } from '../../panel/state/import-plan.js';
import { statusOf as panelStatusOf } from '../../panel/state/key-list.js';
import { REVISIONS } from '../../revisions/all.js';
import { keysCsv, readKeysCsv } from '../../src/commands/keys/csv.js';
import { statusOf } from '../../src/commands/keys/listed.js';
import { readLimit } from '../../src/commands/keys/sizes.js';
import { keyDigest } from '../../src/core/key-digest.js';
import { type AccessKey, MAX_U64 } from '../../src/core/model.js';
import { createGateway } from '../../src/index.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { bareDatabase, describeDatabase } from '../homes/database/database.js';
import { type ServedHere, serveHere } from '../serve/serve-here.js';
import { CREDENTIALS, fileOf } from '../stand-in/files.js';
import type { StandIn } from '../stand-in/stand-in.js';
import { standInOf } from '../stand-in/test-stand-in.js';
import { someOf, WHOLE } from '../whole.js';
import { runHere } from './context.js';

const GUESTS = 'guest-2026';
const ANNA = '0c9e8d7f6a5b4c3d2e1f00112233ff44';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'keyway.jsonc'));
});

type Options = NonNullable<Parameters<typeof runHere>[1]>;

const keys = (argv: readonly string[], options: Partial<Options> = {}) =>
  runHere(['keys', ...argv], { folder, ...options });

/** The keys that the command lists, with the names and limits that they have. */
async function listed(argv: readonly string[] = [], options: Partial<Options> = {}) {
  const { code, output, complaints } = await keys(['list', '--json', ...argv], options);
  expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
  const rows: readonly { access_key: string; name: string | null; limit_bytes: number | null }[] = JSON.parse(output);
  return rows.map(({ access_key, name, limit_bytes }) => [access_key, name, limit_bytes]);
}

const file = () => readFile(join(folder, 'keyway.jsonc'), 'utf8');

const HOMES: readonly (readonly [string, () => Promise<ServedHere | null>])[] = [
  ['opened by itself', async () => null],
  [
    'through the Keyway that serves it',
    async () => {
      const served = await serveHere(['serve', '--bind', '127.0.0.1:0'], { folder });
      await served.url;
      return served;
    },
  ],
];

describe.each(someOf(HOMES, 1))('keyway keys on a file %s', (_name, open) => {
  it('are brought back by the newest version, which loses none that were made before', async () => {
    await open();
    for (const name of ['one', 'two', 'three']) await keys(['add', name]);
    const before = await file();
    const made = await listed();
    await keys(['remove', 'two']);
    const run = (...argv: readonly string[]) => runHere(['config', ...argv], { folder });
    const [head, newest = ''] = (await run('list')).output.split('\n');
    expect(head).toMatch(/kept +keys +restoring it changes$/);
    expect(newest).toMatch(new RegExp(` ${made.length} +\\+1 key$`));
    const [id = ''] = newest.split(' ');
    const [record] = JSON.parse((await run('list', '--json')).output);
    const differs = { keysAdded: 1, keysRemoved: 0, keysChanged: 0, members: [] };
    expect(record).toMatchObject({ id, keys: made.length, differs });
    const present = await file();
    const preview = await run('restore', id, '--dry-run');
    expect(preview).toMatchObject({
      code: 0,
      output: expect.stringMatching(/change: \+1 key\n {2}would add .* two {2}/),
    });
    expect(JSON.parse((await run('restore', id, '--dry-run', '--json')).output)).toMatchObject({
      wouldRestore: { id, differs },
      added: [made.find(([, name]) => name === 'two')?.[0]],
    });
    expect(await file()).toBe(present);
    expect(await run('restore', id)).toMatchObject({ code: 0 });
    expect(await file()).toBe(before);
    await expect.poll(async () => (await run('list')).output.split('\n')[1]).toMatch(/ −1 key$/);
  });

  if (WHOLE)
    it('that an import has made are taken away again by the newest version alone', async () => {
      await open();
      for (const name of ['one', 'two']) await keys(['add', name]);
      const before = await file();
      await writeFile(join(folder, 'keys.csv'), 'name\nthree\nfour\n');
      expect(await keys(['import', 'keys.csv'])).toMatchObject({ code: 0 });
      const [record] = JSON.parse((await runHere(['config', 'list', '--json'], { folder })).output);
      expect(record).toMatchObject({ differs: { keysAdded: 0, keysRemoved: 2 } });
      await runHere(['config', 'restore', record.id], { folder });
      expect(await file()).toBe(before);
    });

  it('gives a key a new secret, by key and by name, and refuses a grace by its flag', async () => {
    await open();
    expect((await keys(['add', 'Anna Two', '--key', 'old', '--limit', '5'])).code).toBe(0);
    const rotated = await keys(['rotate', 'Anna Two']);
    expect({ ...rotated, output: '' }).toMatchObject({ code: 0, complaints: '' });
    const successor = rotated.output.trim();
    expect(successor).toMatch(/^[\da-f]{32}$/);
    expect((await listed()).filter(([, name]) => name === 'Anna Two')).toEqual([[successor, 'Anna Two', 5]]);
    const again = (await keys(['rotate', successor])).output.trim();
    expect((await listed()).filter(([, name]) => name === 'Anna Two')).toEqual([[again, 'Anna Two', 5]]);
    expect(await keys(['rotate', 'nobody'])).toMatchObject({ code: 1, output: '' });
    for (const flag of ['--grace', '--keep-address'])
      expect(await keys(['rotate', again, flag, '1d'])).toMatchObject({
        code: 2,
        complaints: expect.stringContaining(`flag ${flag}: there is no such flag`),
      });
  });

  it('adds, changes, resets and removes keys in the file, by key and by name, and keeps its comments', async () => {
    await open();
    const added = await keys(['add', 'New one', '--limit', '1.5 GiB']);
    expect(added.code).toBe(0);
    const key = added.output.trim();
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect((await listed()).at(-1)).toEqual([key, 'New one', 1610612736]);
    expect((await keys(['set', 'New one', GUESTS, '--limit', 'none'])).output).toContain(
      `Set ${key}  New one  no limit`,
    );
    expect((await keys(['set', key, '--name', 'Renamed'])).code).toBe(0);
    expect((await listed()).slice(2)).toEqual([
      [GUESTS, 'Guests', null],
      [key, 'Renamed', null],
    ]);
    expect((await keys(['reset', 'Renamed'])).output).toContain('Reset');
    expect((await keys(['remove', 'Renamed', GUESTS])).code).toBe(0);
    expect((await listed()).map(([name]) => name)).not.toContain(GUESTS);
    expect(await file()).not.toContain(key);
    expect(await file()).toContain('//');
  });

  it('hands out a subscription address of its own, the same each time, which goes on after a rotation, and ends it', async () => {
    await open();
    const address = async () => keys(['link', 'Guests', '--subscription']);
    const first = await address();
    expect(first).toMatchObject({ code: 0, complaints: expect.stringContaining('--subscription-bind') });
    expect(first.output).toMatch(/^\/sub\/[\da-f]{32}\n$/);
    expect((await keys(['rotate', GUESTS])).code).toBe(0);
    expect((await address()).output).toBe(first.output);
    expect(await keys(['link', 'Guests', '--subscription', '--remove'])).toMatchObject({ code: 0, output: '' });
    expect((await address()).output).not.toBe(first.output);
    expect(await keys(['link', 'Guests', '--remove'])).toMatchObject({ code: 2 });
  });

  it('prints the link, a QR code of it and the client configuration, also by the beginning of a key or name or as a log shows it', async () => {
    await open();
    const link = `ostp://${ANNA}@203.0.113.7:50000?type=udp&owndns=true`;
    expect((await keys(['link', ANNA.slice(0, 6)])).output).toBe(`${link}\n`);
    expect((await keys(['link', keyDigest(ANNA)])).output).toBe(`${link}\n`);
    expect(JSON.parse((await keys(['list', keyDigest(ANNA), '--json'])).output)).toMatchObject([{ access_key: ANNA }]);
    const code = (await keys(['link', 'Anna', '--qr'])).output;
    expect(code.endsWith(`\n${link}\n`)).toBe(true);
    expect(code.split('\n')[0]).toMatch(/^█{20,}$/);
    expect(JSON.parse((await keys(['link', ANNA, '--object'])).output)).toMatchObject({
      mode: 'client',
      access_key: ANNA,
    });
  });

  it.each([
    ['0.0.0.0:50000', 'the link names 0.0.0.0, which clients elsewhere cannot reach'],
    ['[::1]:50000', 'the link names [::1]'],
    ['vpn.example.org:50000', null],
  ])('says so where a link names %s', async (listen, words) => {
    await writeFile(join(folder, 'own.jsonc'), JSON.stringify({ mode: 'server', listen, access_keys: ['a'] }));
    const { output, complaints } = await runHere(['keys', 'link', 'a', '--config', 'own.jsonc'], { folder });
    expect(output).toContain(`@${listen}`);
    expect(complaints).toEqual(words === null ? '' : expect.stringContaining(words));
  });

  it('takes a table over, says what it does, and has nothing to do the second time', async () => {
    await open();
    const table = `name,access_key,link\r\n"Anna, at home",${ANNA},ostp://x\r\nnew,key-of-a-table,\r\n`;
    await writeFile(join(folder, 'keys.csv'), table);
    const before = await file();
    const dry = await keys(['import', 'keys.csv', '--dry-run']);
    expect(dry.output).toBe(
      `would set ${ANNA}  Anna, at home  no limit\nwould add key-of-a-table  new  no limit\n1 would be added, 1 would be set, 0 as they are\n`,
    );
    expect(await file()).toBe(before);
    expect((await keys(['import', 'keys.csv'])).output).toBe('1 added, 1 set, 0 as they are\n');
    expect((await keys(['import', 'keys.csv'])).output).toBe('0 added, 0 set, 2 as they are\n');
    expect(await listed(['--search', 'AT HOME'])).toEqual([[ANNA, 'Anna, at home', null]]);
  });
});

describe('keyway keys', () => {
  it('speaks to a Keyway over a socket that its owner alone may open, and which goes with it', async () => {
    const served = await serveHere(['serve', '--bind', '127.0.0.1:0'], { folder });
    await served.url;
    const path = join(folder, 'keyway.jsonc.keyway/keyway.sock');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await keys(['add', 'through it', '--key', 'k-1'])).output).toBe('k-1\n');
    await served.stop();
    await expect(stat(path)).rejects.toThrow('ENOENT');
    expect((await listed()).at(-1)).toEqual(['k-1', 'through it', null]);
  });

  it('changes nothing for a word that stands for no key or for several, and names it', async () => {
    await keys(['add', 'twice', '--key', 'k-1']);
    await keys(['add', 'twice', '--key', 'k-2']);
    const before = await file();
    const { code, complaints } = await keys(['remove', GUESTS, 'twice', 'nobody']);
    expect(code).toBe(1);
    expect(complaints).toBe(
      'keyway keys remove: "twice" stands for 2 keys: name one by its key, which "keyway keys list" shows; there is no key "nobody", and none with that name\n',
    );
    expect((await keys(['add', 'again', '--key', 'k-1'])).complaints).toContain('there is a key "k-1" already');
    expect(await file()).toBe(before);
  });

  it.each(
    someOf(['server.jsonc', 'server-0.3.21.jsonc'], 1),
  )('leave the last key of %s, without which no server starts', async (sample) => {
    await copyFile(join(ROOT, 'fixtures/samples', sample), join(folder, 'keyway.jsonc'));
    const [last, ...others] = JSON.parse((await keys(['list', '--json'])).output).map(
      ({ access_key }: { readonly access_key: string }) => access_key,
    );
    expect(await keys(['remove', ...others])).toMatchObject({ code: 0 });
    const before = await file();
    const { code, complaints } = await keys(['remove', last]);
    expect({ code, complaints }).toEqual({ code: 1, complaints: expect.stringContaining('expected at least one key') });
    expect(await file()).toBe(before);
  });

  it('add none with a name where a server of --server-version takes plain keys alone', async () => {
    await writeFile(join(folder, 'keyway.jsonc'), fileOf('0.2.30'));
    const before = await file();
    const { code, complaints } = await keys(['add', 'Anna', '--server-version', '0.2.30']);
    expect({ code, complaints }).toEqual({
      code: 1,
      complaints: expect.stringContaining('without a name and a limit'),
    });
    expect(await file()).toBe(before);
  });

  it('with --dry-run says what would change and changes nothing', async () => {
    const before = await file();
    expect(
      (await keys(['add', 'N', '--count', '2', '--dry-run'])).output.match(/would add a new key {2}N \d/g),
    ).toHaveLength(2);
    expect((await keys(['remove', GUESTS, '--dry-run'])).output).toContain(`would remove ${GUESTS}`);
    expect((await keys(['set', GUESTS, '--name', 'x', '--dry-run'])).output).toContain(`would set ${GUESTS}  x`);
    expect((await keys(['reset', GUESTS, '--dry-run'])).output).toContain(`would reset ${GUESTS}`);
    expect(await file()).toBe(before);
  });

  it('lists by search, filter, order and number, as a table and as CSV', async () => {
    expect((await listed(['--sort', 'limit', '--without-limit'])).map(([key]) => key)).toHaveLength(2);
    expect(await listed(['guest', '--limit', '1'])).toEqual([[GUESTS, 'Guests', 53687091200]]);
    const table = await keys(['list', '--limit', '1']);
    expect(table.output).toMatch(/^key +name +up +down +limit\n.*\nand 2 more\n$/);
    expect((await keys(['list', '--search', 'no such'])).output).toBe('No key.\n');
    expect((await keys(['list', '--csv', '--search', 'guest'])).output).toBe(
      `key,name,limit_bytes,note,up,down,status\n${GUESTS},Guests,53687091200,,0,0,unused\n`,
    );
  });

  it('exports to a file of its own, readable by its owner alone, that an import takes', async () => {
    expect((await keys(['export', 'all.csv'])).output).toBe('Wrote 3 keys to all.csv\n');
    expect((await stat(join(folder, 'all.csv'))).mode & 0o777).toBe(0o600);
    expect((await keys(['export', 'all.csv'])).code).toBe(1);
    expect((await keys(['export', '-'])).output).toBe((await keys(['export'])).output);
    expect((await keys(['import', 'all.csv'])).output).toBe('0 added, 0 set, 3 as they are\n');
  });

  it('exports limit, usage and status, as JSON, too', async () => {
    const { output } = await keys(['export']);
    expect(output).toContain(`key,name,limit_bytes,note,up,down,status\n`);
    expect(output).toContain(`\n${GUESTS},Guests,53687091200,,0,0,unused\n`);
    expect(JSON.parse((await keys(['export', '--json'])).output)).toContainEqual({
      ...{ access_key: GUESTS, name: 'Guests', limit_bytes: 53687091200, online: expect.any(Boolean) },
      ...{ bytes_up: 0, bytes_down: 0, connections: 0, status: 'unused', note: null },
    });
    expect((await keys(['export', 'all.json', '--json'])).output).toBe('Wrote 3 keys to all.json\n');
  });

  it('takes notes, finds keys by them, and exports them for an import', async () => {
    await writeFile(join(folder, 'long.csv'), `key,note\n${GUESTS},${'n'.repeat(1_001)}\n`);
    const refused = await keys(['import', 'long.csv']);
    expect([refused.code, refused.complaints]).toEqual([1, expect.stringContaining('line 2: note: expected at most')]);
    const pictures = '\u{1f511}'.repeat(1_000);
    await writeFile(join(folder, 'long.csv'), `key,note\n${GUESTS},${pictures}\n`);
    expect((await keys(['import', 'long.csv'])).output).toBe('0 added, 1 set, 0 as they are\n');
    await writeFile(join(folder, 'notes.csv'), `key,note\n${GUESTS},"=Pays in ""cash"""\nnew,of a new key\n`);
    expect((await keys(['import', 'notes.csv'])).output).toBe('1 added, 1 set, 0 as they are\n');
    expect((await keys(['import', 'notes.csv'])).output).toBe('0 added, 0 set, 2 as they are\n');
    expect((await listed(['--search', 'IN "CASH'])).map(([key]) => key)).toEqual([GUESTS]);
    const { output } = await keys(['export']);
    expect(output).toContain(`${GUESTS},Guests,53687091200,"'=Pays in ""cash""",0,0,unused\n`);
    await writeFile(join(folder, 'none.csv'), `key,note\n${GUESTS},\n`);
    expect((await keys(['import', 'none.csv'])).output).toBe('0 added, 1 set, 0 as they are\n');
    expect((await keys(['list', '--search', 'in "cash'])).output).toBe('No key.\n');
    expect(await file()).not.toContain('note');
  });

  it('takes names and limits alone, as a spreadsheet with semicolons writes them, and hands the new keys out', async () => {
    await writeFile(
      join(folder, 'names.csv'),
      '\ufeffName;Limit\r\nBoris;1,5 GB\r\nGuests;\r\n"Jürgen; Büro";none\r\n',
    );
    const dry = await keys(['import', 'names.csv', '--dry-run']);
    expect(dry.output).toContain('would add a new key  Boris  1.5 GB\n');
    expect(dry.output).toContain('2 would be added, 1 would be set, 0 as they are');
    const first = await keys(['import', 'names.csv']);
    expect(first.complaints).toBe('2 added, 1 set, 0 as they are\n');
    const [head, boris = '', office = '', end] = first.output.split('\n');
    expect([head, end]).toEqual(['key,name,limit_bytes,link', '']);
    expect(boris).toMatch(/^([0-9a-f]{32}),Boris,1500000000,ostp:\/\/\1@/);
    expect(office).toMatch(/^([0-9a-f]{32}),Jürgen; Büro,,ostp:\/\/\1@/);
    expect((await listed(['--search', 'boris'])).map(([, ...rest]) => rest)).toEqual([['Boris', 1500000000]]);
    expect((await keys(['import', 'names.csv'])).output).toBe('0 added, 0 set, 3 as they are\n');
    await writeFile(join(folder, 'made.csv'), first.output);
    expect((await keys(['import', 'made.csv'])).output).toBe('0 added, 0 set, 2 as they are\n');
    await writeFile(join(folder, 'one.csv'), 'name\nClara\n');
    expect((await keys(['import', 'one.csv', '--out', 'new.csv'])).output).toBe(
      'Wrote the new key with links to new.csv\n1 added, 0 set, 0 as they are\n',
    );
    expect((await stat(join(folder, 'new.csv'))).mode & 0o777).toBe(0o600);
  });

  it('makes no key where the file for the new ones is there already', async () => {
    const before = await listed();
    await writeFile(join(folder, 'one.csv'), 'name\nClara\n');
    await writeFile(join(folder, 'new.csv'), 'mine');
    const { code, complaints } = await keys(['import', 'one.csv', '--out', 'new.csv']);
    expect([code, complaints]).toEqual([1, expect.stringContaining('new.csv exists already and is never overwritten')]);
    expect(await listed()).toEqual(before);
  });

  it('on a full disk leaves no half table, and hands new keys out all the same', async () => {
    const full = createFileSystem();
    const append: typeof full.append = async (path, content) => {
      if (!path.endsWith('.csv')) return full.append(path, content);
      await full.append(path, content.subarray(0, 10));
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    };
    const options = { fileSystem: { ...full, append } };
    await writeFile(join(folder, 'one.csv'), 'name\nClara\n');
    const made = await keys(['import', 'one.csv', '--out', 'new.csv'], options);
    expect(made.output).toMatch(/^key,name,limit_bytes,link\n([0-9a-f]{32}),Clara,,ostp:\/\/\1@/);
    expect([made.code, made.complaints]).toEqual([1, expect.stringContaining('new.csv cannot be written: No space')]);
    expect(await keys(['export', 'all.csv'], options)).toMatchObject({ code: 1, output: '' });
    expect((await readdir(folder)).filter((name) => name.endsWith('.csv'))).toEqual(['one.csv']);
  });

  it('stops between two keys when it is asked to, and says how far it came', async () => {
    const { code, complaints } = await keys(['add', 'N', '--count', '50'], { untilStopped: async () => 'SIGINT' });
    expect(code).toBe(1);
    const [, done] = /stopped: (\d+) of 50 done/.exec(complaints) ?? [];
    expect(await listed(['--search', 'N '])).toHaveLength(Number(done));
  });

  it('shows how far many changes are, on a terminal', async () => {
    const { progress } = await keys(['add', 'N', '--count', '3'], { terminal: true });
    expect(progress.join('')).toContain('adding keys, 3 of 3');
  });

  it.each([
    [['list', '--sort', 'luck'], '--sort: expected one of key, name'],
    [['add'], 'expected keyway keys add NAME'],
    [['add', 'N', '--limit', '10 apples'], '--limit: expected a number of bytes'],
    [['set', 'K'], 'expected --name or --limit'],
    [['list', '--revision', 'dns'], '--revision: expected --target with it'],
    [['list', '--target', 'ftp://x'], "--target: expected the server's base URL"],
    [['link', 'K', '--qr', '--object'], '--object: expected either this or --qr'],
  ])('%j is a usage problem', async (argv, words) => {
    const { code, complaints } = await keys(argv);
    expect(code).toBe(2);
    expect(complaints).toContain(words);
  });

  it('of a file that there is none of says so', async () => {
    expect(await keys(['list', '--config', 'none.jsonc'])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('there is no configuration file'),
    });
  });

  it('says of a file of another mode that no server starts from it', async () => {
    await writeFile(join(folder, 'keyway.jsonc'), (await file()).replace('"mode": "server"', '"mode": "client"'));
    const { code, complaints } = await keys(['list']);
    expect(code).toBe(0);
    expect(complaints).toContain('keyway.jsonc: the mode is not "server": no server starts from it');
  });
});

/** A moment that a test decides on. */
function moment() {
  let come = () => {};
  const here = new Promise<void>((resolve) => {
    come = resolve;
  });
  return { here, come };
}

describe('keyway keys on a running server', () => {
  it.each(someOf(REVISIONS, 1).map(({ id }) => id))('of line %s lists, adds, changes and removes keys', async (id) => {
    const app = await createGateway({
      mounts: [{ revision: id }],
      configPath: join(folder, 'keyway.jsonc'),
      loginGuard: 'off',
    });
    onTestFinished(() => app.close());
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    const base = app.keyway.mounts[0]?.base ?? '';
    const environment = { KEYWAY_TOKEN: 'sample-static-token', KEYWAY_USERNAME: 'admin', KEYWAY_PASSWORD: 'password' };
    const target = ['--target', `${origin}${base}`];
    const there = (...argv: string[]) => keys([...argv, ...target], { environment });
    expect(await listed(target, { environment })).toHaveLength(3);
    expect(await there('add', 'From afar', '--key', 'far-1', '--limit', '5MB')).toMatchObject({
      code: 0,
      output: 'far-1\n',
    });
    expect((await there('set', 'far-1', '--limit', '7MB')).code).toBe(0);
    const { keyway } = app;
    expect(keyway.core.keys.get('far-1')).toMatchObject({ name: 'From afar', limitBytes: 7_000_000n });
    expect((await there('link', 'far-1')).output).toMatch(/^ostp:\/\/far-1@203\.0\.113\.7:50000/);
    expect((await there('remove', 'far-1')).code).toBe(0);
    expect(keyway.core.keys.get('far-1')).toBeUndefined();
  });

  it('that loses acknowledged keys is looked at after an import, which counts what is there and names the others', async () => {
    let saves = 0;
    let reloading: Promise<void> = Promise.resolve();
    const [hasRead, mayTake] = [moment(), moment()];
    const standIn = await standInOf('0.2.96', {
      reloadFactor: 0,
      // A look at the file that read it before the second key and takes it for its own at the third.
      async pause(at) {
        if (at === 'reload: read') {
          hasRead.come();
          await mayTake.here;
        }
        if (at === 'save: read') saves += 1;
        if (at === 'save: read' && saves === 2) {
          reloading = standIn.reload();
          await hasRead.here;
        }
        if (at === 'save: read' && saves === 3) {
          mayTake.come();
          await reloading;
        }
      },
    });
    const environment = { KEYWAY_TOKEN: CREDENTIALS.token };
    const target = ['--target', standIn.origin + standIn.paths.base];
    await writeFile(join(folder, 'some.csv'), 'key,name,limit_bytes\nk1,One,\nk2,Two,5\nk3,Three,\nk4,Four,\n');
    const { code, output, complaints } = await keys(['import', 'some.csv', ...target], { environment });
    expect({ code, output }).toEqual({ code: 1, output: '2 added, 0 set, 0 as they are\n' });
    expect(complaints).toMatch(
      /acknowledged and lost 2: import the table again\n +not added: k2 +Two +5 B\n +not added: k3 +Three/,
    );
    expect((await keys(['import', 'some.csv', ...target], { environment })).output).toBe(
      '2 added, 0 set, 2 as they are\n',
    );
    // One key in two lines, and a name that no list shows as it is.
    await writeFile(join(folder, 'twice.csv'), `key,name,limit_bytes\nk1,One,7\n,One,8\nk5,of ${CREDENTIALS.token},\n`);
    expect(await keys(['import', 'twice.csv', ...target], { environment })).toMatchObject({ code: 0 });
  });

  it('has no place for notes, which an import says, and counts no key that has nothing else', async () => {
    const standIn = await standInOf('0.2.96', { reloadFactor: 0, pauseMilliseconds: 0 });
    const target = ['--target', standIn.origin, '--no-wait'];
    const environment = { KEYWAY_TOKEN: CREDENTIALS.token };
    await writeFile(join(folder, 'noted.csv'), 'key,note\nalpha,of alpha\nbeta,\n');
    const imported = await keys(['import', 'noted.csv', ...target], { environment });
    expect(imported).toMatchObject({ code: 0, output: '0 added, 0 set, 2 as they are\n' });
    expect(imported.complaints).toContain('Notes are left out: a Keyway alone keeps them');
  });

  it('that tells no names exports none, so that an import of it takes nobody his name', async () => {
    const standIn = await standInOf('0.2.34', { reloadFactor: 0, pauseMilliseconds: 0 });
    const target = ['--target', standIn.origin];
    const environment = { KEYWAY_TOKEN: CREDENTIALS.token };
    const { output } = await keys(['export', ...target], { environment });
    expect(output.split('\n').toSorted()).toEqual([
      '',
      'alpha,,0,0,unused',
      'beta,1000,0,0,unused',
      'key,limit_bytes,up,down,status',
    ]);
    expect((await keys(['list', '--csv', ...target], { environment })).output).toContain(
      'key,limit_bytes,up,down,status\n',
    );
    await writeFile(join(folder, 'old.csv'), output.replace('beta,1000', `${ANNA},7`));
    expect((await keys(['import', 'old.csv'])).output).toBe('1 added, 1 set, 0 as they are\n');
    expect((await listed([ANNA]))[0]?.slice(1)).toEqual([expect.stringContaining('Anna'), 7]);
  });

  it.each(
    someOf(['0.2.96', '0.3.21'], 1),
  )('of %s removes a key that is empty or cannot be typed by its digest', async (line) => {
    const odd = 'tab\there';
    const [emptyItem, oddItem] =
      line === '0.2.96' ? ['""', JSON.stringify(odd)] : [`{ "key": "" }`, `{ "key": ${JSON.stringify(odd)} }`];
    const text = fileOf(line).replace(/("access_keys"|"users"): \[/, `$1: [${emptyItem}, ${oddItem}, `);
    const standIn = await standInOf(line, { reloadFactor: 0, pauseMilliseconds: 0 }, text);
    const there = (...argv: string[]) =>
      keys(
        [...argv, '--target', `${standIn.origin}/panel`, '--no-wait'].filter(
          (flag) => argv[0] !== 'list' || flag !== '--no-wait',
        ),
        {
          environment: { KEYWAY_TOKEN: CREDENTIALS.token },
        },
      );
    const { output } = await there('list');
    // The empty one last: a write of one key stores the server's memory over a configuration that it has not read yet.
    for (const key of [odd, '']) {
      expect(output).toContain(`(digest ${keyDigest(key)})`);
      expect(await there('remove', '--digest', keyDigest(key))).toMatchObject({
        code: 0,
        output: `Removed (digest ${keyDigest(key)})  no limit\n`,
      });
    }
    const left = () => standIn.keys().map(({ accessKey }) => accessKey);
    // As when it reads its file again by itself.
    await standIn.restart();
    expect(left()).not.toContain('');
    // From 0.3.7 on what the API deletes comes back with a restart, as the command has said.
    expect(left().includes(odd)).toBe(line === '0.3.21');
    expect(await there('remove', '--digest', keyDigest(''))).toMatchObject({
      code: 1,
      complaints: expect.stringContaining(`there is no key "${keyDigest('')}"`),
    });
    expect((await keys(['remove'])).complaints).toContain('expected keyway keys remove KEY…');
  });

  it('that has no configuration in its API says of an empty key where it is to be removed', async () => {
    const text = fileOf('0.2.0').replace('"access_keys": [', '"access_keys": ["", ');
    const standIn = await standInOf('0.2.0', { reloadFactor: 0, pauseMilliseconds: 0 }, text);
    const removed = await keys(['remove', '--digest', keyDigest(''), '--target', standIn.origin], {
      environment: { KEYWAY_TOKEN: CREDENTIALS.token },
    });
    expect(removed).toMatchObject({
      code: 1,
      complaints: expect.stringContaining("take the key out of the server's own file"),
    });
  });

  /** A server of 0.3.21, whose API stores keys where no start finds them, and commands on it; `wait` is what happens in 7 s. */
  async function beside(wait: (standIn: StandIn) => Promise<void>, options: Partial<Options> = {}) {
    const standIn = await standInOf('0.3.21', { reloadFactor: 0, pauseMilliseconds: 0 });
    const waits: number[] = [];
    const there = (...argv: string[]) =>
      keys([...argv, '--target', `${standIn.origin}/panel`], {
        ...options,
        environment: { KEYWAY_TOKEN: CREDENTIALS.token },
        wait: async (milliseconds) => {
          waits.push(milliseconds);
          await wait(standIn);
        },
      });
    const held = () =>
      standIn
        .keys()
        .map(({ accessKey }) => accessKey)
        .toSorted();
    return { there, held, waits };
  }

  it('of a version that nobody knows says nothing of its next start', async () => {
    const standIn = await standInOf('0.4.99', { reloadFactor: 0, pauseMilliseconds: 0 });
    const wait = async () => expect.fail('nothing is to be looked at');
    const environment = { KEYWAY_TOKEN: CREDENTIALS.token };
    const added = await keys(['add', 'N', '--target', `${standIn.origin}/panel`], { environment, wait });
    expect([added.code, added.complaints]).toEqual([0, expect.not.stringContaining('next start')]);
  });

  it('from 0.3.7 on says that its changes do not outlive a restart, and looks 7 s later whether they are there', async () => {
    const { there, held, waits } = await beside(async () => undefined);
    const added = await there('add', 'N', '--key', 'n-1');
    expect(added).toMatchObject({ code: 0, output: 'n-1\n' });
    expect(added.complaints.replaceAll('\n', ' ')).toMatch(
      /does not outlive the server's next start: .* keyway serve --upstream http:\/\/127\.0\.0\.1:\d+ $/,
    );
    expect(waits).toEqual([7_000]);
    expect(held()).toEqual(['alpha', 'beta', 'n-1']);
    for (const argv of [['list'], ['remove', 'n-1', '--dry-run'], ['reset', 'alpha'], ['export']])
      expect(await there(...argv)).toMatchObject({ code: 0, complaints: '' });
    expect(waits).toHaveLength(1);
    const unsettled = await there('remove', 'n-1', '--no-wait');
    expect(unsettled.complaints).toContain('--upstream');
    expect(waits).toHaveLength(1);
  });

  it('makes again what such a server has lost within 7 s, and says so', async () => {
    let restarts = 1;
    const { there, held, waits } = await beside(async (standIn) => {
      if (restarts-- > 0) await standIn.restart();
    });
    const added = await there('add', 'N', '--key', 'n-1', '--limit', '5');
    expect(added).toMatchObject({ code: 0, complaints: expect.stringContaining('lost changes of n-1: they are made') });
    expect(waits).toHaveLength(2);
    expect(held()).toContain('n-1');
    restarts = 1;
    expect((await there('remove', 'alpha', 'n-1')).code).toBe(0);
    expect(held()).toEqual(['beta']);
    restarts = 1;
    expect((await there('set', 'beta', '--name', 'B', '--limit', '9')).code).toBe(0);
    expect(await there('list', '--csv', 'beta')).toMatchObject({ output: expect.stringContaining('beta,B,9') });
  });

  if (WHOLE)
    it('makes no key again that was there before and that somebody has deleted within 7 s', async () => {
      const headers = { authorization: `Bearer ${CREDENTIALS.token}` };
      let isDeleted = false;
      const { there, held } = await beside(async ({ origin }) => {
        if (!isDeleted) await fetch(`${origin}/panel/api/users/beta`, { method: 'DELETE', headers });
        isDeleted = true;
      });
      const set = await there('set', 'beta', '--limit', '9');
      expect(set).toMatchObject({ code: 1, complaints: expect.stringContaining('has not kept beta') });
      expect(held()).toEqual(['alpha']);
    });

  it('gives up after two tries with exit code 1, and ends its waiting at the first signal', async () => {
    const { there, waits } = await beside((standIn) => standIn.restart());
    const lost = await there('add', 'N', '--key', 'n-1');
    expect(lost).toMatchObject({ code: 1, complaints: expect.stringContaining('has not kept n-1') });
    expect(waits).toHaveLength(3);
    const stopped = await beside(() => new Promise(() => undefined), { untilStopped: async () => 'SIGINT' });
    expect(await stopped.there('add', 'N', '--key', 'n-1')).toMatchObject({
      code: 1,
      output: 'n-1\n',
      complaints: expect.stringContaining('was not looked at'),
    });
  });

  it('that is away, or refuses, says why and which credential it takes', async () => {
    const away = await keys(['list', '--target', 'http://127.0.0.1:9']);
    expect(away.code).toBe(1);
    expect(away.complaints).toContain('http://127.0.0.1:9: ');
    const app = await createGateway({ mounts: [{ revision: 'current' }], configPath: join(folder, 'keyway.jsonc') });
    onTestFinished(() => app.close());
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    const refused = await keys(['list', '--target', `${origin}/panel`], { environment: { KEYWAY_TOKEN: 'wrong' } });
    expect(refused.code).toBe(1);
    expect(refused.complaints).toContain('KEYWAY_TOKEN');
    expect(refused.complaints).not.toContain('wrong');
  });
});

describeDatabase('keyway keys --database', () => {
  it('changes the keys of a shared database, and of one without a schema says what makes it', async () => {
    const environment = { KEYWAY_DATABASE_URL: await bareDatabase() };
    const there = (...argv: string[]) => keys(argv, { environment });
    expect((await there('list')).complaints).toContain('keyway database migrate');
    expect((await runHere(['database', 'migrate'], { folder, environment })).code).toBe(0);
    expect(await there('add', 'Shared', '--key', 'shared-1', '--limit', '1GB')).toMatchObject({
      code: 0,
      output: 'shared-1\n',
    });
    expect((await there('set', 'Shared', '--limit', '2GB')).code).toBe(0);
    expect(await listed([], { environment })).toEqual([['shared-1', 'Shared', 2_000_000_000]]);
    expect((await there('remove', 'Shared')).code).toBe(0);
    expect(await listed([], { environment })).toEqual([]);
    expect(await there('list', '--config', 'keyway.jsonc')).toMatchObject({ code: 2 });
  });
});

const key = fc.record<AccessKey>({
  accessKey: fc.string({ minLength: 1, unit: 'grapheme' }),
  name: fc.option(fc.string({ minLength: 1, unit: 'grapheme' })),
  limitBytes: fc.option(fc.bigInt({ min: 0n, max: MAX_U64 })),
});

describe('a table of keys', () => {
  it('that is written is read as the same keys', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { selector: ({ accessKey }) => accessKey }),
        fc.boolean(),
        (written, hasNames) => {
          const { rows, problems } = readKeysCsv(keysCsv(written, { hasNames }));
          expect(problems).toEqual([]);
          expect(rows.map(({ accessKey, given }) => ({ accessKey, ...given }))).toEqual(
            written.map(({ name, ...row }) => (hasNames ? { ...row, name } : row)),
          );
        },
      ),
    );
  });

  it('has the words of the panel: its columns and statuses are the same on both sides', () => {
    const limits = [null, 0n, 10n];
    const used = [0n, 1n, 8n, 9n, 10n, 11n];
    for (const limitBytes of limits)
      for (const up of used)
        for (const connections of [0n, 1n]) {
          const key = { accessKey: 'k', name: 'N', limitBytes, up, down: 0n, connections, isOnline: connections > 0n };
          const user = {
            access_key: 'k',
            limit_bytes: limitBytes === null ? null : Number(limitBytes),
            last_seen: null,
          };
          const seen = { ...user, name: 'N', bytes_up: Number(up), bytes_down: 0, connections: Number(connections) };
          expect(statusOf({ ...key, counters: null, note: null })).toBe(
            panelStatusOf({ ...seen, online: connections > 0n }),
          );
        }
    const written = [{ accessKey: 'k', name: '-N; "x"', limitBytes: 5n }];
    const more = [{ name: 'status' as const, of: () => 'unused' }];
    expect(planImport(keysCsv(written, { hasNames: true, more }), new Map(), true)).toMatchObject([
      { key: 'k', name: '-N; "x"', limit: 5 },
    ]);
    for (const head of ['key,name,limit', 'access_key;name;limit_bytes', 'ключ\tимя\tлимит']) {
      const sign = /[,;\t]/.exec(head)?.[0] ?? '';
      const table = `${head}\n${['k', 'N', '5 B'].join(sign)}\n`;
      expect(readKeysCsv(table)).toMatchObject({
        problems: [],
        rows: [{ accessKey: 'k', given: { name: 'N', limitBytes: 5n } }],
      });
      expect(planImport(table, new Map(), true)).toMatchObject([{ key: 'k', name: 'N', limit: 5 }]);
    }
  });

  it.each([
    ['limits with the units that people write', 'name,limit\na,10G\nb,10 ГБ\nc,"10,5GB"\nd,10\u00a0GB\n'],
    [
      'a line that names the separator, blanks and empty rows',
      'sep=;\n name ; limit \n a ; 10GiB \n;\nb;10GB\nc;10500MB\nd;10GB\n',
    ],
    ['lines that end with a carriage return alone', 'name\tlimit\ra\t10GiB\rb\t10GB\rc\t10.5GB\rd\t10GB\r'],
  ])('is read with %s', (_what, text) => {
    const { rows, problems } = readKeysCsv(text);
    expect(problems).toEqual([]);
    expect(rows.map(({ given: { name, limitBytes } }) => [name, limitBytes])).toEqual([
      ['a', 10n * 2n ** 30n],
      ['b', 10n ** 10n],
      ['c', 105n * 10n ** 8n],
      ['d', 10n ** 10n],
    ]);
  });

  it('asks for the unit of a small limit, but in a column of bytes', () => {
    expect(readKeysCsv('name,limit\na,10\nb,0\nc,999999\nd,1000000\n').problems).toEqual([
      'line 2: limit: 10 bytes? write 10GB',
      'line 4: limit: 999999 bytes? write 999999GB',
    ]);
    expect(readKeysCsv('name,limit_bytes\na,10\n')).toMatchObject({
      problems: [],
      rows: [{ given: { limitBytes: 10n } }],
    });
  });

  it('has no control character in it, and reads texts that only look like one as they are', () => {
    const names = ['\u001b[2J', 'a\tb\nc', '\u0085', '\\u001b', '\\\\u001b', '\\\u0007', '\\u0041', 'c:\\users'];
    const written = names.map((name, index) => ({ accessKey: `k${index}`, name, limitBytes: null }));
    const text = keysCsv(written, { hasNames: true });
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(text).toContain('k0,\\u001b[2J,');
    expect(readKeysCsv(text).rows.map(({ given }) => given.name)).toEqual(names);
    expect(readKeysCsv('key,name\na,\\u0041\n').rows[0]?.given.name).toBe('\\u0041');
  });

  it('says of every line what is wrong with it', () => {
    const { problems } = readKeysCsv(
      'key,name,limit\n,,5 GB\na,x,1.5 B\nb,"two\nlines",\na,again,\nc,too few\nd,e,none\n',
    );
    expect(problems).toEqual([
      'line 2: expected a key or a name',
      'line 3: limit: expected a number of bytes, a size such as 10GB or 1.5 GiB, or none, got "1.5 B"',
      'line 6: the key of line 3 again',
      'line 7: expected 3 fields, got 2',
    ]);
    expect(readKeysCsv('key,colour\n').problems).toEqual([
      'line 1: expected the columns key, name and limit, with commas, semicolons or tabs between them, got "colour"',
    ]);
    expect(readKeysCsv('limit\n').problems).toEqual(['line 1: expected a column key or name']);
    expect(readKeysCsv('name\nAnna\nAnna\n').problems).toEqual(['line 3: the name of line 2 again, and no key']);
    expect(readKeysCsv('').problems).toHaveLength(1);
    expect(readKeysCsv('key\n"open\n').problems).toEqual([
      'line 2: a quotation mark stands where none may, or is never closed',
    ]);
  });
});

describe('a size', () => {
  it.each([
    ['0', 0n],
    ['10GB', 10_000_000_000n],
    ['10 GB', 10_000_000_000n],
    ['1.5 GiB', 1_610_612_736n],
    ['1.5kB', 1_500n],
    ['18446744073709551615', MAX_U64],
    ['none', null],
    ['', null],
    ['18446744073709551616', undefined],
    ['17000 PB', 17_000_000_000_000_000_000n],
    ['1.0001kB', undefined],
    ['-1', undefined],
    ['1e3', undefined],
    ['ten', undefined],
    ['5 constructor', undefined],
  ])('%j is %s', (text, bytes) => {
    expect(readLimit(text)).toBe(bytes);
  });
});
