import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { openLocalBackend } from '../../src/local/backend.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { runHere } from '../cli/context.js';
import { describeDatabase, freshDatabase } from './database.js';
import { openBackend } from './gateways.js';

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
  const url = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'keyway-database-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
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
    expect(await run(['database', 'migrate'])).toMatchObject({ code: 0, output: expect.stringContaining('version 1') });
    expect(await run(['database', 'migrate'])).toMatchObject({
      code: 0,
      output: expect.stringContaining('nothing to do'),
    });
  });

  it('import and export give back file, counters, departed ones included, and reports as they were', async () => {
    const { url, folder, run } = await stage();
    const path = await embedded(folder);
    await run(['database', 'migrate']);
    const taken = await run(['database', 'import', '--config', path], true);
    expect(taken).toMatchObject({ code: 0, complaints: '' });
    expect(taken.output).toContain('counters of 3 keys and 2 remembered reports');
    expect(taken.progress.join()).toContain('writing counters');
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
    await again.close();
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

  it('says what is missing', async () => {
    const { folder, run } = await stage();
    const none = await runHere(['database', 'migrate'], { folder });
    expect(none).toMatchObject({ code: 2, complaints: expect.stringContaining('expected --database') });
    const unmade = await run(['database', 'import', '--config', await embedded(folder)]);
    expect(unmade).toMatchObject({ code: 1, complaints: expect.stringContaining('"keyway database migrate" first') });
    const away = await runHere(['database', 'migrate', '--database', 'postgres://127.0.0.1:9/x'], { folder });
    expect(away).toMatchObject({ code: 1, complaints: expect.stringContaining('cannot be reached') });
  });
});

describeDatabase('keyway config over a database', () => {
  it('lists the versions that were kept and brings one back', async () => {
    const { url, run } = await stage();
    const backend = await openBackend(url);
    await backend.document.put(Buffer.from(TEXT));
    await backend.document.replace(Buffer.from('{"mode":"server","access_keys":["z"]}'));
    const listed = JSON.parse((await run(['config', 'list', '--json'])).output) as { id: string }[];
    expect(listed).toHaveLength(2);
    const id = listed[0]?.id ?? '';
    expect(await run(['config', 'restore', id])).toMatchObject({ code: 0, output: expect.stringContaining(id) });
    expect((await backend.document.text()).toString()).toBe(TEXT);
    expect(await run(['config', 'restore', 'nothing'])).toMatchObject({ code: 1 });
  });
});

describeDatabase('keyway serve over a database', () => {
  it('refuses a configuration file beside it, a schema that it may not make, and a database that is away', async () => {
    const { folder, run } = await stage();
    const beside = await run(['serve', '--config', 'x.jsonc']);
    expect(beside).toMatchObject({
      code: 2,
      complaints: expect.stringContaining('no configuration file beside --database'),
    });
    const log = await runHere(['serve', '--no-migrate', '--log-level', 'silent', '--database', await freshDatabase()], {
      folder,
    });
    expect(log).toMatchObject({ code: 1, complaints: expect.stringContaining('start without --no-migrate') });
    const argv = ['serve', '--log-level', 'silent', '--database', 'postgres://u:secret@127.0.0.1:9/x'];
    const away = await runHere(argv, { folder });
    expect(away).toMatchObject({ code: 1, complaints: expect.stringContaining('cannot be reached') });
    expect(away.complaints).not.toContain('secret');
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
