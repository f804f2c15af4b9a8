import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../../build.js';
import { type Running, startKeyway } from '../../commands/process.js';
import { folderForTest } from '../../folder-for-test.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase, holding, waiting } from './database.js';
import { openBackend } from './gateways.js';

const api = { enabled: true, bind: '127.0.0.1:0', token: 'api-token' };
const textOf = (...keys: readonly string[]) => JSON.stringify({ mode: 'server', api, access_keys: keys });

async function stage() {
  const url = await freshDatabase();
  const folder = await folderForTest();
  const start = (...argv: readonly string[]) => {
    const running = startKeyway(argv, { folder });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    return running;
  };
  const over = (...argv: readonly string[]) =>
    start('database', ...argv, '--database', url, '--config', 'server.json', '--data-dir', 'data');
  return { url, folder, start, over };
}

async function stopped(running: Running, words: string): Promise<void> {
  running.child.kill('SIGTERM');
  const { code, output, complaints } = await running.ended;
  expect({ code, output }, 'the command fails and says nothing of a success').toEqual({ code: 1, output: '' });
  expect(complaints).toContain(`${words}it was ended by SIGTERM before it was done`);
}

describeDatabase('a command that SIGTERM ends', () => {
  beforeAll(buildIfOlder, 300_000);

  it('in the middle of an import says so, and leaves the database as it was', async () => {
    const { url, folder, over } = await stage();
    const backend = await openBackend(url);
    await backend.document.put(Buffer.from(textOf('before')));
    await backend.close(); // A look of its own would be what waits.
    await writeFile(join(folder, 'server.json'), textOf('taken', 'over'));
    const release = await holding(url, "select from keyway.heads where name = 'state' for update");
    const running = over('import', '--replace');
    await waiting(url, 1);
    await stopped(running, 'server.json was not taken over: ');
    await release();
    const other = await openBackend(url);
    expect([...other.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['before']);
    await createKey(other, { accessKey: 'after', name: null, limitBytes: null });
  });

  it.each([
    ['looks for the schema', 'lock table keyway.schema_versions in access exclusive mode', 'keyway database import: '],
    ['stores the configuration', 'lock table keyway.contents in share mode', 'server.json was not taken over: '],
  ])('while an import %s, and the database does not answer, ends at once', async (_, held, words) => {
    const { url, folder, over } = await stage();
    await (await openBackend(url)).close();
    await writeFile(join(folder, 'server.json'), textOf('taken', 'over'));
    const release = await holding(url, held);
    const running = over('import');
    await waiting(url, 1);
    await stopped(running, words);
    await release();
    expect((await openBackend(url)).keys.size).toBe(0);
  });

  it('while an export reads leaves no file', async () => {
    const { url, folder, over } = await stage();
    const backend = await openBackend(url);
    await backend.document.put(Buffer.from(textOf('a')));
    await backend.close(); // A look of its own would be what waits.
    const release = await holding(url, 'lock table keyway.counters in access exclusive mode');
    const running = over('export');
    await waiting(url, 1);
    await stopped(running, 'keyway database export: ');
    await release();
    expect(await readdir(folder)).toEqual(['data']);
  });
});
