import { expect, it } from 'vitest';
import { openRaw, rawRequest } from '../raw-client.js';
import { gatewayForTest, listen } from './gateway.js';

it('a gateway that is closed answers what has come, and waits for no client that has said nothing or half a request', async () => {
  const app = await gatewayForTest({ mounts: [{ revision: 'earliest' }], listener: { token: '' } });
  const port = await listen(app);
  const open = () => openRaw({ port, host: '127.0.0.1' });
  const [silent, half, whole] = [await open(), await open(), await open()];
  const count = () => new Promise((resolve) => app.server.getConnections((_error, open) => resolve(open)));
  await expect.poll(count).toBe(3);
  half.socket.write('GET / HTT');
  whole.socket.write(rawRequest('GET', '/api/users'));
  await app.close();
  expect(await whole.ended).toMatch(/^HTTP\/1\.1 200 /);
  expect([await silent.ended, await half.ended]).toEqual(['', '']);
});
