import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { sendBody } from '../../src/northbound/send-body.js';

const LARGE = Buffer.from(Array.from({ length: 5_000_001 }, (_, i) => (i * 7 + (i >> 13)) & 0xff));

/** A server that answers `/large` with several slices and everything else with a few bytes. */
async function serving(): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    const body = request.url === '/large' ? LARGE : 'small';
    response.writeHead(200, { 'content-length': body.length });
    sendBody(response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

it('a body of several slices arrives byte for byte, and HEAD has its length alone', async () => {
  const { port } = await serving();
  const url = `http://127.0.0.1:${port}/large`;
  for (let i = 0; i < 3; i += 1) expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(LARGE)).toBe(true);
  const head = await fetch(url, { method: 'HEAD' });
  expect(head.headers.get('content-length')).toBe(String(LARGE.length));
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('small');
});

it('a client that leaves in the middle of a large body harms nobody', async () => {
  const { port, server } = await serving();
  await new Promise<void>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'));
    socket.once('data', () => socket.resetAndDestroy());
    socket.once('close', () => resolve());
  });
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('small');
  await expect
    .poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))))
    .toBeLessThan(2);
});
