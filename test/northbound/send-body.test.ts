import { connect } from 'node:net';
import { expect, it, vi } from 'vitest';
import { gatewayForTest, listen } from './gateway.js';

const options = { mounts: [{ revision: 'current' }] };

async function gatewayWithKeys(count: number) {
  const app = await gatewayForTest(options);
  for (let index = 0; index < count; index += 1) {
    app.keyway.local?.keys.create({ accessKey: `key-${index}`, name: 'n'.repeat(200), limitBytes: null });
  }
  return { app, port: await listen(app) };
}

it('a list of several megabytes arrives whole, also when it is read slowly and on a connection that goes on', async () => {
  const { port } = await gatewayWithKeys(20_000);
  for (let round = 0; round < 2; round += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/panel/api/users`, {
      headers: { 'accept-encoding': 'identity' },
    });
    const body = (await answer.json()) as { data: unknown[] };
    expect([body.data.length, answer.status]).toEqual([20_000, 200]);
  }
});

it('HEAD of a large list has its length and no body', async () => {
  const { port } = await gatewayWithKeys(5000);
  const answer = await fetch(`http://127.0.0.1:${port}/panel/api/users`, {
    method: 'HEAD',
    headers: { 'accept-encoding': 'identity' },
  });
  expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(1_000_000);
  expect(await answer.text()).toBe('');
});

it('a client that goes away in the middle of a list leaves no connection behind', async () => {
  const { app, port } = await gatewayWithKeys(20_000);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /panel/api/users HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  const open = () => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
  await vi.waitFor(async () => expect(await open()).toBe(0), { timeout: 20_000 });
});
