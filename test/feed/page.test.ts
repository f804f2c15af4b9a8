import { execFile } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { startKeyway } from '../commands/process.js';
import { blocksOf, commandsOf } from '../docs/markdown.js';
import { folderForTest } from '../folder-for-test.js';
import { freePorts } from '../free-ports.js';

const run = promisify(execFile);

beforeAll(buildIfOlder, 300_000);

it('the lines of docs/counters.md for a program that counts increments, as they stand, report usage and show it in the list', async () => {
  const page = await readFile(join(ROOT, 'docs/counters.md'), 'utf8');
  const section = page.slice(page.indexOf('## From a program that counts increments')).split('\n## ')[0] ?? '';
  const [serving] = blocksOf(page).map(({ text }) => commandsOf(text));
  const [asking] = blocksOf(section).map(({ text }) => commandsOf(text));
  const [serve = ''] = serving ?? [];
  expect(serve).toMatch(/^keyway serve /);
  expect(asking).toHaveLength(2);

  const folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  const [api, feed] = await freePorts(2);
  const here = (command: string) => command.replaceAll(':9091', `:${api}`).replaceAll(':9092', `:${feed}`);
  const running = startKeyway(here(serve).split(' ').slice(1), {
    folder,
    environment: { KEYWAY_NO_RESOLVER: 'true' },
  });
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.ended;
  });
  await running.logged(({ url }) => url !== undefined);

  const ask = async (command: string) => JSON.parse((await run('sh', ['-c', here(command)])).stdout);
  expect(await ask(asking?.[0] ?? '')).toEqual({ durable: true, repeated: false, unknown_keys: [] });
  const { data } = await ask(asking?.[1] ?? '');
  expect(data[0]).toMatchObject({
    access_key: 'guest-2026',
    bytes_up: 1000,
    bytes_down: 5000,
    connections: 1,
    online: true,
  });
});
