import { execFile } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { startKeyway } from '../cli/process.js';
import { ROOT } from '../clone.js';
import { blocksOf, commandsOf } from '../docs/markdown.js';
import { freePorts } from '../free-ports.js';
import { temporaryFolder } from './stage.js';

const run = promisify(execFile);

beforeAll(buildIfOlder, 300_000);

it("the README's lines about the feed, as they stand, report usage and show it in the list", async () => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const section = readme.slice(readme.indexOf('## Counters from your tunnel server')).split('\n## ')[0] ?? '';
  const [serving, asking] = blocksOf(section).map(({ text }) => commandsOf(text));
  const [serve = ''] = serving ?? [];
  expect(serve).toMatch(/^npx keyway serve /);
  expect(asking).toHaveLength(2);

  const folder = await temporaryFolder();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  const [api, feed] = await freePorts(2);
  const here = (command: string) => command.replaceAll(':9090', `:${api}`).replaceAll(':9091', `:${feed}`);
  const environment = { KEYWAY_BIND: `127.0.0.1:${api}`, KEYWAY_NO_RESOLVER: 'true' };
  const running = startKeyway(here(serve).split(' ').slice(2), { folder, environment });
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
