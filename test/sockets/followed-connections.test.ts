import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { withFollowed } from '../../src/sockets/followed-connections.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { freePort } from '../free-ports.js';
import { rawClient, rawRequest } from '../raw-client.js';

it('two connections with TLS from one port of a client to two addresses are told apart, so that a server that closes answers both', async () => {
  const begun: ServerResponse[] = [];
  const server = withFollowed((options, listener) =>
    createServer({ ...options, cert: CERTIFICATE, key: PRIVATE_KEY }, listener),
  )({}, (_request, response) => void begun.push(response));
  await once(server.listen({ host: '0.0.0.0', port: 0 }), 'listening');
  onTestFinished(() => server.closeAllConnections());
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const { port } = address;

  async function open(host: string, localPort: number) {
    const from = { localAddress: '127.0.0.1', localPort };
    const socket = connect({ host, port, ca: CERTIFICATE, servername: 'doh.test', ...from });
    const client = rawClient(socket);
    await once(socket, 'secureConnect');
    return client;
  }
  const own = await freePort();
  const first = await open('127.0.0.1', own);
  const second = await open('127.0.0.2', own);
  for (const { socket } of [first, second]) socket.write(rawRequest('GET', '/'));
  await expect.poll(() => begun.length).toBe(2);
  const closed = once(server.close(), 'close');
  server.closeIdleConnections();
  await new Promise((resolve) => setTimeout(resolve, 200));
  for (const response of begun) response.end('answer');
  await closed;
  expect([first.text(), second.text()]).toEqual([expect.stringMatching(/answer$/), expect.stringMatching(/answer$/)]);
});
