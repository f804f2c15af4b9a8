import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { opsStage, TOKEN } from '../ops/stage.js';
import { openRaw, type RawClient, rawRequest } from '../raw-client.js';
import { serveHere } from './serve-here.js';

const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

it('a gateway that stops answers and keeps what clients had sent, also those that had ended their side', async () => {
  const { gateway, configPath } = await opsStage();
  const { hostname, port } = new URL(gateway.url);
  const clients: RawClient[] = [];
  for (let n = 0; n < 20; n += 1) clients.push(await openRaw({ host: hostname, port: Number(port) }));
  for (const [n, { socket }] of clients.entries()) {
    const bytes = rawRequest('POST', '/panel/api/users', HEADERS, JSON.stringify({ access_key: `k${n}` }));
    if (n % 2 === 0) socket.end(bytes);
    else socket.write(bytes);
  }
  await gateway.close();
  for (const [n, client] of clients.entries())
    expect(await client.ended).toMatch(new RegExp(`^HTTP/1\\.1 200 .*"data":"k${n}"\\}$`, 's'));
  const { access_keys } = JSON.parse(await readFile(configPath, 'utf8')) as { access_keys: readonly unknown[] };
  expect(access_keys).toHaveLength(20);
});

it('a gateway that stops makes no change whose answer it no longer sends', async () => {
  const { gateway, configPath } = await opsStage();
  const { hostname, port } = new URL(gateway.url);
  const client = await openRaw({ host: hostname, port: Number(port) });
  const names = Array.from({ length: 40 }, (_, n) => `k${n}`);
  const body = (name: string) => JSON.stringify({ access_key: name });
  client.socket.write(names.map((name) => rawRequest('POST', '/panel/api/users', HEADERS, body(name))).join(''));
  await gateway.close();
  const answered = [...(await client.ended).matchAll(/"data":"(k\d+)"/g)].map(([, name]) => name);
  const { access_keys } = JSON.parse(await readFile(configPath, 'utf8')) as { access_keys: readonly unknown[] };
  expect(answered.length).toBeGreaterThan(0);
  expect(access_keys).toHaveLength(answered.length);
});

it('a gateway that stops cuts off a command that does not go on sending', async () => {
  const folder = await folderForTest();
  await writeFile(join(folder, 'server.json'), JSON.stringify({ mode: 'server', access_keys: [] }));
  const served = await serveHere(['serve', '--config', 'server.json', '--bind', '127.0.0.1:0'], { folder });
  await served.url;
  const data = join(folder, 'server.json.keyway');
  const call = request({ socketPath: join(data, 'keyway.sock'), method: 'POST', path: '/replacements/state' });
  const cutOff = once(call, 'error');
  call.write('half of it');
  await expect.poll(() => readdir(data)).toContainEqual(expect.stringMatching(/^request-/));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let isOver = false;
  void served.stop().then(() => {
    isOver = true;
  });
  while (!isOver) {
    await vi.advanceTimersByTimeAsync(20);
    await nextTurn();
  }
  await cutOff;
  expect(await readdir(data)).not.toContainEqual(expect.stringMatching(/^request-/));
});
