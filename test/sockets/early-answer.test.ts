import { createServer, type IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { keepReading } from '../../src/sockets/early-answer.js';
import { collectGarbage } from '../collect-garbage.js';
import { openRaw, rawRequest } from '../raw-client.js';

it('a connection that is kept holds no request that was answered before its body had come', async () => {
  const requests: WeakRef<IncomingMessage>[] = [];
  const server = createServer((request, response) => {
    requests.push(new WeakRef(request));
    keepReading(request, response);
    response.writeHead(401, { 'content-length': 0 }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  const client = await openRaw({ host: '127.0.0.1', port: address.port });
  for (let sent = 1; sent <= 8; sent += 1) {
    client.socket.write(`${rawRequest('POST', '/', { 'content-length': '2' })}{}`);
    await client.received(new RegExp(`(HTTP/1.1 401[^]*){${sent}}\r\n\r\n$`));
  }
  await collectGarbage();
  const held = requests.slice(0, 4).filter((request) => request.deref() !== undefined);
  expect(held).toHaveLength(0);
  client.socket.destroy();
});
