import { randomUUID } from 'node:crypto';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { NamedTokens } from '../../../src/core/named-tokens.js';
import { sha256Hash } from '../../../src/core/password.js';
import type { LogPort } from '../../../src/core/ports.js';
import { openLocalBackend } from '../../../src/homes/file/backend.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { startGateway } from '../../../src/serve/start.js';
import { settingsFromCommandLine } from '../../../src/settings/read.js';
import { runHere } from '../../commands/context.js';
import { folderForTest } from '../../folder-for-test.js';
import { createLines } from '../../ops/stage.js';
import { bareDatabase, describeDatabase, dropDatabase, freshDatabase, query } from './database.js';
import { openBackend, seesAll } from './gateways.js';

const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };
const TEXT = `{
  // kept
  "mode": "server",
  "listen": "203.0.113.7:50000",
  "access_keys": [
    "a",
    { "access_key": "b", "name": "Bea", "limit_bytes": 18446744073709551615, "note": 1.50 }
  ],
  "outbound": { "enabled": true, "rules": [] },
  "api": { "enabled": true, "bind": "127.0.0.1:9090", "token": "secret" }
}
`;

async function stage() {
  const url = await bareDatabase();
  const folder = await folderForTest();
  const run = (argv: readonly string[], terminal = false) =>
    runHere(argv, { folder, terminal, environment: { KEYWAY_DATABASE_URL: url } });
  return { url, folder, run };
}

/** A configuration file whose Keyway has counted something, has forgotten a key, and has ended. */
async function embedded(folder: string): Promise<string> {
  const path = join(folder, 'server.jsonc');
  await writeFile(path, TEXT.replace('"a",', '"a", "gone",'));
  const backend = await openLocalBackend({ configPath: path, fileSystem: createFileSystem(), clock: systemClock, log });
  const entry = (accessKey: string, bytesUp: bigint) => ({
    accessKey,
    bytesUp,
    bytesDown: 2n ** 63n,
    connections: null,
  });
  await backend.count({ id: 'r1', entries: [entry('a', 1n), entry('gone', 7n)] }, 'durable');
  await backend.count({ id: 'r2', entries: [entry('b', 2n ** 64n - 1n)] }, 'durable');
  await backend.configuration?.replace(Buffer.from(TEXT.replace('// kept', '')));
  await backend.close();
  await writeFile(path, TEXT);
  return path;
}

const counters = async (folder: string, path: string) => {
  const { output } = await runHere(['counters', 'export', '--config', path], { folder });
  return output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .sort((a, b) => (a.access_key < b.access_key ? -1 : 1));
};

describeDatabase('keyway database', () => {
  it('migrate makes the schema once', async () => {
    const { run } = await stage();
    expect(await run(['database', 'migrate'])).toMatchObject({ code: 0, output: expect.stringContaining('version 3') });
    expect(await run(['database', 'migrate'])).toMatchObject({
      code: 0,
      output: expect.stringContaining('nothing to do'),
    });
  });

  it('import and export give back file, counters, departed ones included, reports and notes as they were', async () => {
    const { url, folder, run } = await stage();
    const path = await embedded(folder);
    await appendFile(join(`${path}.keyway`, 'records.jsonl'), '[["notes","b","\\"mine\\""]]\n');
    await run(['database', 'migrate']);
    const taken = await run(['database', 'import', '--config', path], true);
    expect(taken).toMatchObject({ code: 0, complaints: '' });
    expect(taken.output).toContain(': 2 keys, counters of 3, 2 remembered reports and 0 named tokens');
    expect(taken.progress.join()).toContain('counters written');
    const backend = await openBackend(url);
    expect(
      [...backend.keys.entries()].map(({ accessKey, name, counters: own }) => [accessKey, name, own?.bytesUp]),
    ).toEqual([
      ['a', null, 1n],
      ['b', 'Bea', 2n ** 64n - 1n],
    ]);
    expect(backend.settings()).toMatchObject({ announced: { host: '203.0.113.7' }, listener: { token: 'secret' } });
    const entries = [{ accessKey: 'a', bytesUp: 9n, bytesDown: 9n, connections: null }];
    expect(await backend.count({ id: 'r2', entries }, 'durable')).toMatchObject({ repeated: true });

    const other = join(folder, 'back.jsonc');
    expect(await run(['database', 'export', '--config', other])).toMatchObject({ code: 0, complaints: '' });
    expect(await readFile(other, 'utf8')).toBe(TEXT);
    expect(await counters(folder, other)).toEqual(await counters(folder, path));
    const again = await openLocalBackend({
      configPath: other,
      fileSystem: createFileSystem(),
      clock: systemClock,
      log,
    });
    expect(await again.count({ id: 'r1', entries }, 'durable')).toMatchObject({ repeated: true });
    expect([...again.records.of('notes')]).toEqual([['b', '"mine"']]);
    await again.close();
  });

  it('takes named tokens over with who made keys by them, and leaves those alone that the database has', async () => {
    const { url, folder, run } = await stage();
    const path = await embedded(folder);
    const atFile = (argv: readonly string[]) => runHere([...argv, '--config', path], { folder });
    const secretOf = ({ output }: { readonly output: string }) => output.trim();
    const bot = secretOf(await atFile(['token', 'add', 'bot', '--may', 'create']));
    await atFile(['token', 'add', 'gone', '--may', 'all']);
    await atFile(['token', 'remove', 'gone']);
    const other = secretOf(await atFile(['token', 'add', 'both', '--may', 'all']));
    await appendFile(
      join(`${path}.keyway`, 'records.jsonl'),
      '[["makers","b","\\"bot\\""]]\n[["makers","a","\\"gone\\""]]\n[["notes","b","\\"mine\\""]]\n',
    );
    await run(['database', 'migrate']);
    const both = secretOf(await run(['token', 'add', 'both', '--may', 'status']));
    expect(await run(['database', 'import', '--config', path])).toMatchObject({
      code: 0,
      output: expect.stringContaining(' and 1 named tokens\n'),
      complaints: expect.stringMatching(/: they stay as they are there: both\n$/),
    });
    const records = await query(url, 'select kind, id from keyway.kept_records order by kind, id');
    expect(records).toEqual([
      { kind: 'imported', id: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { kind: 'makers', id: 'b' },
      { kind: 'notes', id: 'b' },
      { kind: 'tokens', id: 'bot' },
      { kind: 'tokens', id: 'both' },
    ]);
    const gateway = await openBackend(url);
    const named = new NamedTokens({ records: gateway.records, clock: systemClock, random: systemRandom });
    const principalOf = async (secret: string) => (await named.principalShown(`Bearer ${secret}`))?.may ?? null;
    expect(await Promise.all([bot, both, other].map(principalOf))).toEqual(['create', 'status', null]);
  });

  it('brings no token back that was removed since it was taken over, and another one by its name only once', async () => {
    const { url, folder, run } = await stage();
    const path = await embedded(folder);
    const atFile = (argv: readonly string[]) => runHere([...argv, '--config', path], { folder });
    const taking = async () => {
      const { output } = await run(['database', 'import', '--config', path, '--replace']);
      return / and (\d+) named tokens\n/.exec(output)?.[1];
    };
    await atFile(['token', 'add', 'bot', '--may', 'all']);
    await run(['database', 'migrate']);
    expect(await taking()).toBe('1');
    await run(['token', 'remove', 'bot']);
    await run(['token', 'add', 'later', '--may', 'status']);
    await query(url, "update keyway.operations set at = at - interval '2 hours'");
    await query(url, "select keyway.forget(10, interval '1 day')");
    const tokens = await query(url, "select id from keyway.kept_records where kind = 'tokens'");
    expect(tokens).toEqual([{ id: 'later' }]);
    expect(await taking()).toBe('0');
    await atFile(['token', 'remove', 'bot']);
    await atFile(['token', 'add', 'bot', '--may', 'all']);
    expect(await taking()).toBe('1');
  });

  it('refuses to overwrite what is there, on either side, unless it is told to', async () => {
    const { folder, run } = await stage();
    const path = await embedded(folder);
    await run(['database', 'migrate']);
    await run(['database', 'import', '--config', path]);
    expect(await run(['database', 'import', '--config', path])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('holds 2 keys already: --replace'),
    });
    expect(await run(['database', 'import', '--config', path, '--replace'])).toMatchObject({ code: 0 });
    expect(await run(['database', 'export', '--config', path])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('exists: --replace'),
    });
    expect(await run(['database', 'export', '--config', path, '--replace'])).toMatchObject({ code: 0 });
  });

  it('keeps what an import replaces as a version, for ever where it held keys, and counts as the file says alone', async () => {
    const { url, folder, run } = await stage();
    const backend = await openBackend(url);
    await backend.document.put(Buffer.from('{"mode":"server","access_keys":["a","old"],"other":1}'));
    for (const accessKey of ['a', 'old'])
      await backend.count(
        { id: accessKey, entries: [{ accessKey, bytesUp: 5n, bytesDown: 5n, connections: 2n }] },
        'durable',
      );
    await writeFile(join(folder, 'new.jsonc'), '{"mode":"server","access_keys":["a","b"]}');
    expect(await run(['database', 'import', '--config', 'new.jsonc', '--replace'])).toMatchObject({ code: 0 });
    await seesAll(backend);
    expect(backend.keys.get('a')?.counters).toMatchObject({ bytesUp: 0n, connections: 0n });
    const { output } = await run(['config', 'list', '--json']);
    const [replaced] = JSON.parse(output) as { id: string; forever: boolean }[];
    expect(replaced?.forever).toBe(true);
    const back = join(folder, 'back.jsonc');
    expect(await run(['database', 'export', '--config', back])).toMatchObject({
      output: expect.stringContaining('counters of 2 keys, 0 remembered reports and 0 notes of keys'),
    });
    expect(await run(['config', 'restore', 'nothing'])).toMatchObject({ code: 1 });
    await run(['config', 'restore', replaced?.id ?? '']);
    expect((await backend.document.text()).toString()).toContain('"other":1');
    expect(await backend.count({ id: 'a', entries: [] }, 'durable')).toMatchObject({ repeated: false });
  });

  it.each([
    ['{"mode":"client"}', 'its mode is not "server"'],
    ['{"mode":"server",', 'unexpected end of input'],
    ['{"mode":"server","access_keys":["a\\u0000"]}', 'PostgreSQL cannot hold it: access_key: expected a text without'],
    ['{"mode":"server","api":{"enabled":true,"token":"\\u0000"}}', 'api: expected texts without U+0000'],
    ['{"mode":"server","subscription":{"name":"\\u0000x"}}', 'subscription: expected texts without U+0000'],
    [
      '{"mode":"server","dns":{"custom_domains":{"a":"\\u0000"},"doh_upstream":"\\u0000"}}',
      'dns: expected texts without',
    ],
  ])('refuses to take over %s, says which file and why, and changes nothing', async (text, words) => {
    const { url, folder, run } = await stage();
    await (await openBackend(url)).close();
    await writeFile(join(folder, 'odd.jsonc'), text);
    const refused = await run(['database', 'import', '--config', 'odd.jsonc']);
    expect(refused.code).toBe(1);
    expect(refused.complaints).toContain(`${join(folder, 'odd.jsonc')} was not taken over: `);
    expect(refused.complaints).toContain(words);
    expect(await run(['config', 'list'])).toMatchObject({ output: 'No versions are kept in the database\n' });
  });

  it('refuses a database whose encoding cannot hold every name', async () => {
    const admin = await freshDatabase();
    const name = `latin_${randomUUID().replaceAll('-', '')}`;
    await query(admin, `create database ${name} encoding 'LATIN1' locale 'C' template template0`);
    const url = Object.assign(new URL(admin), { pathname: `/${name}` }).href;
    onTestFinished(() => dropDatabase(url));
    await expect(openBackend(url)).rejects.toThrow("the database's encoding is LATIN1");
    const migrated = await runHere(['database', 'migrate', '--database', url], { folder: '/' });
    expect(migrated).toMatchObject({ code: 1, complaints: expect.stringContaining('--encoding=UTF8') });
  });

  it.each([
    'backup x.jsonl',
    'restore x.jsonl',
    'counters export',
  ])('keyway %s takes no file that lies there by chance for the state, unless it is named', async (words) => {
    const { folder, run } = await stage();
    const argv = words.split(' ');
    await writeFile(join(folder, 'keyway.jsonc'), TEXT);
    expect(await run(argv)).toMatchObject({ code: 2, complaints: expect.stringContaining('keyway database export') });
    expect((await run([...argv, '--config', 'keyway.jsonc'])).complaints).not.toContain('database export');
  });

  it('says of a change that the database refuses why', async () => {
    const { url, run } = await stage();
    await (await openBackend(url)).close();
    await query(url, 'alter table keyway.keys add constraint none check (false)');
    const refused = await run(['keys', 'add', 'n']);
    expect(refused.complaints).toMatch(/the database did not take a change: .*violates check constraint/);
    expect(refused.complaints).toContain('keyway keys add: not made');
  });

  it('takes no URL whose password or hosts would be taken for something else, and shows nothing of it', async () => {
    const { folder } = await stage();
    const urls = ['#', '/', '?'].map((sign) => `postgres://user:5432${sign}piece@db.internal/keyway`);
    const hosts = ['one,two', 'one:5432,two:5432'].map(
      (each) => `postgres://u:piece@${each}/k?target_session_attrs=any`,
    );
    for (const url of [...urls, ...hosts, 'postgres://u:piece@/k?host=one,two']) {
      const refused = await runHere(['serve', '--database', url], { folder });
      expect(refused).toMatchObject({
        code: 2,
        complaints: expect.stringContaining('a name that leads to the primary'),
      });
      expect(refused.complaints).toContain('percent-encoded');
      expect(refused.complaints).not.toMatch(/piece|5432/);
    }
    const encoded = ['migrate', '--database', 'postgres://user:54%2332@127.0.0.1:9/keyway'];
    expect(await runHere(['database', ...encoded], { folder })).toMatchObject({ code: 1 });
  });

  it('says what is missing, and which Keyway a newer schema needs', async () => {
    const { url, folder, run } = await stage();
    const none = await runHere(['database', 'migrate'], { folder });
    expect(none).toMatchObject({ code: 2, complaints: expect.stringContaining('expected --database') });
    const config = await embedded(folder);
    const unmade = await run(['database', 'import', '--config', config, '--no-migrate']);
    expect(unmade).toMatchObject({ code: 1, complaints: expect.stringContaining('"keyway database migrate" first') });
    const made = await run(['database', 'import', '--config', config]);
    expect(made).toMatchObject({ code: 0, output: expect.stringContaining('brought up to version') });
    await query(url, 'insert into keyway.schema_versions (version, serves_from) values (1000, 1000)');
    const newer = await run(['database', 'export', '--config', join(folder, 'back.jsonc')]);
    expect(newer).toMatchObject({ code: 1, complaints: expect.stringContaining('run the command of a newer Keyway') });
    expect(newer.complaints).not.toContain('database migrate');
    const away = await runHere(['database', 'migrate', '--database', 'postgres://127.0.0.1:9/x'], { folder });
    expect(away).toMatchObject({ code: 1, complaints: expect.stringContaining('cannot be reached') });
  });
});

describeDatabase('keyway config over a database', () => {
  it('keeps what it replaces with the keys and rules that were changed since it was put', async () => {
    const { url, run } = await stage();
    const backend = await openBackend(url);
    await backend.document.put(Buffer.from(TEXT));
    await backend.document.put(Buffer.from(TEXT.replace('"listen": "203.0.113.7:50000",', '')));
    const key = { accessKey: 'later', name: 'Later', limitBytes: 7n };
    await backend.changes.apply(
      [
        { op: 'create', key },
        { op: 'delete', accessKey: 'a' },
      ],
      { note: null, refuses: false },
    );
    await backend.replaceRules([{ domainSuffix: ['example.org'], ipCidr: [], protocol: null, action: 'block' }]);
    const present = (await backend.document.text()).toString();
    const [first] = JSON.parse((await run(['config', 'list', '--json'])).output) as { id: string }[];
    await run(['config', 'restore', first?.id ?? '']);
    await seesAll(backend);
    const versions = await backend.document.versions.list();
    expect((await backend.document.versions.read(versions.at(-1)?.id ?? '')).toString()).toBe(present);
  });
});

describeDatabase('keyway set-password over a database', () => {
  it('writes the hash, ends every session, keeps what was there, and leaves keys and rules alone', async () => {
    const { url, folder, run } = await stage();
    const backend = await openBackend(url);
    const text = TEXT.replace('"token": "secret"', '"token": "secret", "username": "admin"');
    await backend.document.put(Buffer.from(text));
    const key = { accessKey: 'later', name: null, limitBytes: null };
    await backend.changes.apply([{ op: 'create', key }], { note: null, refuses: false });
    const set = (argv: readonly string[], environment = {}) =>
      runHere(['set-password', ...argv], { folder, terminal: true, secrets: ['new', 'new'], environment });
    expect(await set([], { KEYWAY_DATABASE_URL: url })).toMatchObject({ code: 0, complaints: '' });
    await seesAll(backend);
    expect(backend.settings().listener).toMatchObject({ username: 'admin', passwordHash: sha256Hash('new') });
    expect(backend.keys.get('later')).toBeDefined();
    expect((await backend.document.text()).toString()).toMatch(/\/\/ kept.*"later".*"password_hash"/s);
    expect(JSON.parse((await run(['config', 'list', '--json'])).output)).not.toHaveLength(0);
    expect(await set(['--database', url, '--username', 'other'])).toMatchObject({ code: 0 });
    await seesAll(backend);
    expect(backend.settings().listener).toMatchObject({ username: 'other' });
  });

  it('says what is in the way before it asks, and takes no file beside the database', async () => {
    const { url, folder } = await stage();
    const backend = await openBackend(url);
    await backend.document.put(Buffer.from(TEXT));
    const set = (...argv: string[]) => runHere(['set-password', '--database', url, ...argv], { folder });
    expect(await set()).toMatchObject({ code: 1, complaints: expect.stringContaining('give it with --username') });
    expect(await set('--config', 'x.jsonc')).toMatchObject({
      code: 2,
      complaints: expect.stringContaining('either this or --config'),
    });
  });
});

describeDatabase('keyway serve over a database', () => {
  it('refuses a configuration file beside it, a schema that it may not make, and a database that is away', async () => {
    const { folder, run } = await stage();
    const beside = await run(['serve', '--config', 'x.jsonc']);
    expect(beside).toMatchObject({
      code: 2,
      complaints: expect.stringContaining('no configuration file with --database'),
    });
    const log = await runHere(['serve', '--no-migrate', '--log-level', 'silent', '--database', await bareDatabase()], {
      folder,
    });
    expect(log).toMatchObject({ code: 1, complaints: expect.stringContaining('start without --no-migrate') });
    const argv = ['serve', '--log-level', 'silent', '--database', 'postgres://u:secret@127.0.0.1:9/x'];
    const away = await runHere(argv, { folder });
    expect(away).toMatchObject({ code: 1, complaints: expect.stringContaining('cannot be reached') });
    expect(away.complaints).not.toContain('secret');
  });

  it("lets a web path that another gateway has put wait for a restart, and no bind, which is no one gateway's", async () => {
    const url = await freshDatabase();
    const answer = await settingsFromCommandLine(['--database', url, '--bind', '127.0.0.1:0', '--no-resolver'], {
      environment: {},
      folder: '/',
      readFile: createFileSystem().read,
    });
    if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
    const { lines, log: kept } = createLines();
    const ports = { fileSystem: createFileSystem(), clock: systemClock, random: systemRandom, log: kept };
    const gateway = await startGateway(answer.settings, ports, '0.0.0');
    onTestFinished(() => gateway?.close());
    const other = await openBackend(url);
    await other.document.put(Buffer.from('{"mode":"server","api":{"enabled":true,"bind":"0.0.0.0:1","webpath":"w"}}'));
    const waiting = () => lines.map(({ message }) => message).filter((message) => message.includes('waits for'));
    await expect.poll(waiting).toEqual(["the configuration's webpath changed: it waits for a restart"]);
  });

  it('serves a database without credentials to this machine alone', async () => {
    const { run } = await stage();
    const served = await run(['serve', '--log-level', 'silent', '--bind', '0.0.0.0:0']);
    expect(served).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('0.0.0.0:0 is reached by other machines'),
    });
  });
});
