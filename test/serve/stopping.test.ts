import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { opsStage, TOKEN } from '../ops/stage.js';
import { openRaw, type RawClient, rawRequest } from '../raw-client.js';

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
