import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { readDocument } from '../../src/document/document.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { runHere } from './context.js';

const SAMPLES = join(ROOT, 'fixtures/samples');
const SAMPLE_NAMES = await readdir(SAMPLES);
const NEW = 'server-0.3.21.jsonc';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  for (const name of SAMPLE_NAMES) await copyFile(join(SAMPLES, name), join(folder, name));
});

const run = (...argv: string[]) => runHere(['config', ...argv], { folder });
const text = (name: string) => readFile(join(folder, name), 'utf8');
const versions = (name: string) => readdir(join(folder, `${name}.keyway`, 'versions'));

describe('keyway config check', () => {
  it.each(SAMPLE_NAMES)('of the sample %s says what is in it and changes nothing', async (name) => {
    const { code, output, complaints } = await run('check', name);
    expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
    expect(output).toContain(`${name} has the layout with ${name === NEW ? 'inbounds' : 'access_keys'}.`);
    for (const { id } of REVISIONS) expect(output).toMatch(new RegExp(`^${id.replaceAll('.', '\\.')} +\\d`, 'm'));
    expect(output).not.toContain('sample-static-token');
    expect((await readdir(folder)).toSorted()).toEqual(SAMPLE_NAMES.toSorted());
  });

  it('shows how a root list differs, with the keys in full, and how to take it over', async () => {
    const { output } = await run('check', NEW);
    expect(output).toMatch(/only there:\n +made-in-the-panel \(name "Made in the panel"\)/);
    expect(output).toMatch(/only in inbounds, perhaps deleted[^\n]+:\n +0c9e8d7f6a5b4c3d2e1f00112233ff44/);
    expect(output).toMatch(/guest-2026: name "Guests", limit 107374182400 bytes; in inbounds [^\n]+53687091200 bytes/);
    expect(output).toContain(`keyway config adopt ${NEW}`);
    expect(output).toContain('inbounds[0].users[1].owner');
  });

  it('says what does not start from it, and why', async () => {
    const { output } = await run('check', 'server.jsonc');
    expect(output).toMatch(/^0\.3\.7 +0\.3\.7 +before 0\.3\.11 +no /m);
    expect(output).toMatch(/^current .* yes /m);
    expect(output).toContain('0.3.7, 0.3.11: does not start: inbounds: expected an array');
    await run('convert', 'server.jsonc', '--layout', 'inbounds', '--out', 'new.jsonc');
    expect((await run('check', 'new.jsonc')).output).toMatch(/^0\.3\.7 +0\.3\.11 +0\.3\.21 +yes /m);
  });

  it('calls a login none whose password_hash is malformed, and names that', async () => {
    const flat = { mode: 'server', access_keys: [], api: { username: 'boss', password_hash: 'pbkdf2-sha256$3$0$0' } };
    await writeFile(join(folder, 'hash.json'), JSON.stringify(flat));
    const { output } = await run('check', 'hash.json');
    expect(output).toMatch(/listener .*, with a login that lets nobody in \(its password_hash is malformed\)/);
    expect(output).toContain('  api.password_hash: malformed, so that no password is right; expected ');
  });

  it('hands nothing of the file to a terminal that would act on it, nor do list and restore', async () => {
    const odd = (value: number) => `{"mode":"server","\\u001b[31mx":${value},"access_keys":["a","b"]}`;
    await writeFile(join(folder, 'odd.json'), odd(1));
    await runHere(['keys', 'remove', 'a', '--config', 'odd.json'], { folder });
    await writeFile(join(folder, 'odd.json'), odd(2));
    const listed = await run('list', '--config', 'odd.json');
    const [, id = ''] = /^(\d{8}T\S+)/m.exec(listed.output) ?? [];
    const dry = await run('restore', id, '--dry-run', '--config', 'odd.json');
    expect((listed.output + dry.output).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect([listed.output, dry.output]).toEqual([
      expect.stringContaining('−1 key, ?[31mx\n'),
      expect.stringContaining('would change /?[31mx\n'),
    ]);
  });

  it('hands nothing of the file to a terminal that would act on it, nor does adopt', async () => {
    const users = '"inbounds":[{"protocol":"ostp","users":["b\u202e"]}]';
    const list = '"access_keys":[/* \u001b[2J */{"access_key":"a","\u009b31m":1,"name":"n\u{e0041}"}]';
    await writeFile(join(folder, 'odd.json'), `{"mode":"server","\\u001b[31mx":1,${users},${list}}`);
    const outputs = [await run('check', 'odd.json'), await run('adopt', 'odd.json', '--add')].map(
      ({ output }) => output,
    );
    expect(outputs.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(outputs[0]).toContain('\n  \\u001b[31mx\n');
    expect(outputs[1]).toContain('n\\udb40\\udc41');
  });

  it('shows a comment of a file with carriage returns as the lines that it has', async () => {
    const lists = '"inbounds":[{"protocol":"ostp","users":[]}],"access_keys":[/* one\r\n two\r */{"access_key":"a"}]';
    await writeFile(join(folder, 'odd.json'), `{"mode":"server",${lists}}`);
    expect((await run('adopt', 'odd.json', '--add')).output).toContain('/* one\r\n two\\u000d */\n');
  });

  it('with --json gives the same to programs, numbers exact', async () => {
    const { output } = await run('check', NEW, '--json');
    expect(JSON.parse(output)).toMatchObject({
      layout: 'inbounds',
      keys: 3,
      rootList: { onlyInList: [{ access_key: 'made-in-the-panel', name: 'Made in the panel', limit_bytes: null }] },
      unknown: [{ place: 'inbounds[0].users[1].owner', count: 1 }],
      lines: REVISIONS.flatMap(({ id, file: { unionSince } }) => [
        { id },
        ...(unionSince === null ? [] : [{ id, from: unionSince }]),
      ]),
    });
  });

  it.each([
    [['a', 'b'], '0.2.30', 0, 'A server of 0.2.30 starts from it, and has all of its keys.'],
    [
      ['a', { access_key: 'b', limit_bytes: 5 }],
      '0.2.30',
      1,
      'A server of 0.2.30 does not start: access_keys[1]: expected a string, as each key.',
    ],
    [['a', { access_key: 'b', limit_bytes: 5 }], '0.2.31', 0, 'A server of 0.2.31 starts from it'],
    [['a', { access_key: 'b' }], '0.3.21', 1, 'A server of 0.3.21 does not start: inbounds: expected an array'],
  ])('of the keys %j --for %s exits with %i and says why', async (access_keys, version, code, words) => {
    await writeFile(join(folder, 'a.json'), JSON.stringify({ mode: 'server', listen: '[::]:1', access_keys }));
    const found = await run('check', 'a.json', '--for', version);
    expect(found).toMatchObject({ code, output: expect.stringContaining(words), complaints: '' });
    const json = await run('check', 'a.json', '--for', version, '--json');
    const { version: named, keys } = JSON.parse(json.output).for;
    expect([json.code, named]).toEqual([code, version]);
    expect(keys?.map((key: { readonly access_key: string }) => key.access_key) ?? null).toEqual(
      code === 0 ? ['a', 'b'] : null,
    );
    expect(found.output.includes(`A server of ${version} has these keys:\n  a\n  b`)).toBe(code === 0);
  });

  it('--for names the keys that a server would drop, and takes no version that nobody knows', async () => {
    const inbounds = [{ protocol: 'ostp', tag: 'in', listen: '0.0.0.0', port: 1, users: ['a', 'b'] }];
    await writeFile(
      join(folder, 'a.json'),
      JSON.stringify({ mode: 'server', listen: '[::]:1', inbounds, outbounds: [], access_keys: ['a'] }),
    );
    expect(await run('check', 'a.json', '--for', '0.3.21')).toMatchObject({ code: 0 });
    const words = (version: string) => `A server of ${version} has 1 of its 2 keys at`;
    const before = await run('check', 'a.json', '--for', '0.3.10');
    expect(before).toMatchObject({ code: 1, output: expect.stringContaining(`${words('0.3.10')} a live reload.`) });
    const old = await run('check', 'a.json', '--for', '0.2.96');
    expect(old).toMatchObject({ code: 1, output: expect.stringContaining(`${words('0.2.96')} its start.`) });
    for (const version of ['0.9.0', 'x'])
      expect(await run('check', 'a.json', '--for', version)).toMatchObject({ code: 2, output: '' });
  });

  it('suggests what a misspelt member may have meant', async () => {
    await writeFile(
      join(folder, 'a.json'),
      '{"mode": "server", "access_keys": [{"access_key": "a", "limit_byte": 5}]}',
    );
    expect((await run('check', 'a.json')).output).toContain('access_keys[0].limit_byte (did you mean limit_bytes?)');
  });

  it('of a file that is missing, a folder or broken says so with exit code 1', async () => {
    await writeFile(join(folder, 'broken.json'), '{"mode": ');
    expect(await run('check', 'none.json')).toMatchObject({
      code: 1,
      complaints: 'keyway config check: none.json: No such file or directory (ENOENT)\n',
    });
    expect(await run('check', '.')).toMatchObject({ code: 1, complaints: expect.stringContaining('Is a directory') });
    const broken = await run('check', 'broken.json');
    expect(broken).toMatchObject({
      code: 1,
      output: '',
      complaints: expect.stringContaining('broken.json: line 1, column 10: '),
    });
  });

  it.each(['check', 'adopt', 'convert'])('%s without a file, or with two, is a usage problem', async (command) => {
    const layout = command === 'convert' ? ['--layout', 'inbounds'] : [];
    for (const words of [[], ['a', 'b']]) {
      const { code, complaints } = await run(command, ...words, ...layout);
      expect(code).toBe(2);
      expect(complaints).toContain(`expected keyway config ${command} FILE, and flags`);
    }
  });
});

describe('keyway config adopt', () => {
  it.each(['no', 'off', '0', 'false'])('with --remove=%s takes nothing away', async (off) => {
    const before = await text(NEW);
    expect((await run('adopt', NEW, `--remove=${off}`)).output).toContain('Nothing was asked for');
    expect(await text(NEW)).toBe(before);
  });

  it('with another word behind a switch is a usage problem, and changes nothing', async () => {
    const before = await text(NEW);
    const { code, complaints } = await run('adopt', NEW, '--remove=maybe');
    expect([code, complaints]).toEqual([2, expect.stringContaining('expected true or false, got "maybe"')]);
    expect(await text(NEW)).toBe(before);
  });

  it('without a request shows the differences and writes nothing', async () => {
    const before = await text(NEW);
    const { code, output } = await run('adopt', NEW);
    expect(code).toBe(0);
    expect(output).toContain('only in access_keys (--add): made-in-the-panel');
    expect(await text(NEW)).toBe(before);
    expect(await readdir(folder)).not.toContain(`${NEW}.keyway`);
  });

  it('does what is asked, shows it first and keeps the version before, which restore brings back', async () => {
    const before = await text(NEW);
    const { code, output } = await run('adopt', NEW, '--add', '--update');
    expect(code).toBe(0);
    expect(output).toMatch(/^\+ made-in-the-panel.*\n~ guest-2026: .*\n- the root access_keys \(3\)/);
    const { configuration } = readDocument(Buffer.from(await text(NEW)));
    expect(configuration.keys.map(({ accessKey }) => accessKey)).toContain('made-in-the-panel');
    expect(configuration.warnings).toEqual([]);
    const [kept = ''] = await versions(NEW);
    expect(await run('restore', kept.slice(0, 18), '--config', NEW)).toMatchObject({ code: 0 });
    expect(await text(NEW)).toBe(before);
  });

  it('of a version from which no server starts is not restored over a file from which one does', async () => {
    await run('adopt', NEW, '--add');
    const [kept = ''] = await versions(NEW);
    const good = await text(NEW);
    await writeFile(join(folder, NEW), good.replace('"mode": "server"', '"mode": "client"'));
    await run('restore', kept.slice(0, 18), '--config', NEW);
    const [broken = ''] = (await versions(NEW)).filter((one) => !one.startsWith(kept.slice(0, 18)));
    const before = await text(NEW);
    const refused = await run('restore', broken.slice(0, 18), '--config', NEW);
    expect(refused).toMatchObject({ code: 1, complaints: expect.stringContaining('mode: expected "server"') });
    expect(await text(NEW)).toBe(before);
  });

  it('with --key does it for that key alone, with --json for programs', async () => {
    const { output } = await run('adopt', NEW, '--remove', '--add', '--key', 'made-in-the-panel', '--json');
    expect(JSON.parse(output)).toMatchObject({
      added: [{ access_key: 'made-in-the-panel' }],
      removed: [],
      listRemoved: false,
      written: true,
    });
    expect(await text(NEW)).toContain('0c9e8d7f6a5b4c3d2e1f00112233ff44');
  });

  it('of a file without such a list is an error, and nothing is written', async () => {
    const { code, complaints } = await run('adopt', 'server.jsonc', '--add');
    expect(code).toBe(1);
    expect(complaints).toContain('server.jsonc: the file has no inbounds');
  });
});

describe('keyway config convert', () => {
  it('replaces the file, which reads the same, and keeps what it was for ever', async () => {
    const before = readDocument(Buffer.from(await text('server.jsonc'))).configuration;
    await run('convert', 'server.jsonc', '--layout', 'inbounds');
    const after = readDocument(Buffer.from(await text('server.jsonc')));
    expect(after.document.layout.name).toBe('inbounds');
    expect(after.configuration).toEqual(before);
    expect(await versions('server.jsonc')).toEqual([expect.stringMatching(/-forever\.gz$/)]);
  });

  it('names what has no place and refuses it with exit code 1, unless --force', async () => {
    const before = await text(NEW);
    const argv = ['convert', NEW, '--layout', 'access_keys', '--out', 'old.jsonc'];
    const refused = await run(...argv);
    expect(refused).toMatchObject({ code: 1, output: '' });
    expect(refused.complaints).toMatch(/^access_keys: it is not read in a file with inbounds/);
    expect(refused.complaints).toContain('outbounds[0].tag: ');
    expect(await readdir(folder)).not.toContain('old.jsonc');
    expect(await run(...argv, '--force')).toMatchObject({ code: 0, complaints: '' });
    expect(await text(NEW)).toBe(before);
    expect((await stat(join(folder, 'old.jsonc'))).mode & 0o777).toBe(0o600);
    expect(readDocument(Buffer.from(await text('old.jsonc'))).configuration.keys).toHaveLength(3);
    expect(await run(...argv, '--force')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('old.jsonc exists and is not overwritten'),
    });
  });

  it('names what the servers of the target would not start with, which those of before pass over, and refuses it', async () => {
    const passedOver = { mode: 'server', listen: '0.0.0.0:50000', access_keys: ['a'], dns: 'none' };
    await writeFile(join(folder, 'a.json'), JSON.stringify(passedOver));
    const refused = await run('convert', 'a.json', '--for', '0.3.21', '--out', 'b.json');
    expect(refused).toMatchObject({ code: 1, output: '' });
    expect(refused.complaints).toMatch(/^dns: expected an object: servers of the target do not start/);
    expect(await readdir(folder)).not.toContain('b.json');
  });

  it('without a layout, or with an unknown one, is a usage problem', async () => {
    for (const argv of [[], ['--layout', 'newest']]) {
      const { code, complaints } = await run('convert', 'server.jsonc', ...argv);
      expect(code).toBe(2);
      expect(complaints).toContain('expected --layout inbounds or --layout access_keys');
    }
  });

  it('--for converts for a server version and says how that takes the file, which has another layout afterwards', async () => {
    const { code, output } = await run('convert', 'server.jsonc', '--for', '0.3.21', '--out', 'new.jsonc');
    expect(code).toBe(0);
    expect(output).toContain('new.jsonc is server.jsonc with inbounds.');
    expect(output).toContain('A server of 0.3.21 starts from it, and has all of its keys.');
    const again = await run('convert', 'server.jsonc', '--for', '0.3.6');
    expect(again).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('the file has the layout with access_keys already'),
    });
    for (const flags of [
      ['--for', 'x'],
      ['--for', '0.3.6', '--layout', 'inbounds'],
    ])
      expect(await run('convert', 'server.jsonc', ...flags)).toMatchObject({ code: 2, output: '' });
    const json = await run('convert', 'server.jsonc', '--for', '0.3.21', '--json');
    expect(JSON.parse(json.output)).toMatchObject({ losses: [], for: { version: '0.3.21', problems: [] } });
  });

  it('is named by check --for where a server reads another layout', async () => {
    const { output } = await run('check', 'server.jsonc', '--for', '0.3.21');
    expect(output).toContain('To move the file: keyway config convert server.jsonc --for 0.3.21');
    expect((await run('check', 'server.jsonc', '--for', '0.3.6')).output).not.toContain('To move the file');
  });

  it('--for 0.4.6 moves a file of 0.3.21: names what is lost, then says that it starts and what comes before', async () => {
    const argv = ['convert', NEW, '--for', '0.4.6', '--out', 'new.jsonc'];
    const refused = await run(...argv);
    expect(refused).toMatchObject({ code: 1, output: '' });
    expect(refused.complaints).toMatch(
      /^access_keys: it is not read in a file with inbounds.* "keyway config adopt" takes/,
    );
    await run('adopt', NEW, '--add', '--update');
    const { code, output } = await run(...argv, '--force');
    expect(code).toBe(0);
    expect(output).toContain('A server of 0.4.6 starts from it, and has all of its keys.');
    expect(output).toContain('- Stop the server of today.');
    expect(output).toContain('"domain", else');
    expect(await text('new.jsonc')).toContain('"mode": "server",\n  "config_version": 2,\n');
    expect(readDocument(Buffer.from(await text('new.jsonc'))).configuration.keys).toHaveLength(4);
    expect(await run('check', 'new.jsonc', '--for', '0.4.6')).toMatchObject({ code: 0, complaints: '' });
    expect(await run('check', NEW, '--for', '0.4.6')).toMatchObject({
      code: 1,
      output: expect.stringContaining(
        'A server of 0.4.6 does not start: listen: expected a string or an array of strings.',
      ),
    });
  });

  it.each([
    [{ access_keys: ['a'] }, '0.4.6', 1, 'does not start: listen: expected a string or an array of strings.'],
    [{ listen: '[::]:1', access_keys: [] }, '0.4.0', 1, 'does not start: access_keys: expected at least one key.'],
    [{ listen: '[::]:1' }, '0.4.7', 1, 'does not start: access_keys: expected an array of keys.'],
    [{ listen: '[::]:1', access_keys: ['a'], mode: 'relay' }, '0.4.6', 1, 'does not start: mode: expected "server".'],
    [
      { listen: '[::]:1', access_keys: ['a'], dns: { upstream_mode: 'x' } },
      '0.4.6',
      1,
      'does not start: dns.upstream_mode',
    ],
    [{ listen: '[::]:1', access_keys: ['a'], dns: { upstream_mode: 'x' } }, '0.2.44', 0, 'starts from it'],
    [{ listen: '[::]:1', access_keys: ['a'], api: { enabled: true } }, '0.4.6', 0, 'serves no API: it wants a token'],
    [{ listen: '[::]:1', access_keys: ['a'], api: { enabled: true } }, '0.4.5', 0, 'has all of its keys'],
  ])('check of %j --for %s exits with %i: %s', async (members, version, code, words) => {
    await writeFile(join(folder, 'a.json'), JSON.stringify({ mode: 'server', ...members }));
    const found = await run('check', 'a.json', '--for', version);
    expect(found).toMatchObject({ code, complaints: '', output: expect.stringContaining(words) });
  });
});
