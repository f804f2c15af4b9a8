import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import type { GatewayOptions } from '../../src/index.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { openRaw, type RawClient, rawClient, rawRequest } from '../raw-client.js';
import { gatewayForTest, listen } from './gateway.js';

const WAIT = { timeout: 20_000 };
const STATUS = rawRequest('GET', '/panel/api/server/status');

async function serving(options: Partial<GatewayOptions> = {}) {
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], ...options });
  const port = await listen(app);
  const isEmpty = () =>
    vi.waitFor(async () => {
      const count = await new Promise((resolve) => app.server.getConnections((_error, found) => resolve(found)));
      expect(count).toBe(0);
    }, WAIT);
  return { app, port, isEmpty };
}

/** Sends these bytes and ends the client's side. */
async function halfClosed(client: RawClient, bytes: string): Promise<string> {
  client.socket.end(bytes);
  return client.ended;
}

describe('a client that ends its side after its request', () => {
  it.each([
    ['a read', STATUS, /^HTTP\/1\.1 200 .*"uptime_seconds"/s],
    [
      'a creation',
      rawRequest('POST', '/panel/api/users', { 'content-type': 'application/json' }, '{"access_key":"a"}'),
      /^HTTP\/1\.1 200 .*"data":"a"/s,
    ],
    [
      'the compressed list, which takes a turn',
      rawRequest('GET', '/panel/api/users', { 'accept-encoding': 'br' }),
      /^HTTP\/1\.1 200 /,
    ],
    ['a page of the panel', rawRequest('GET', '/panel/'), /^HTTP\/1\.1 200 .*<html/s],
    ['several requests at once', STATUS + STATUS + STATUS, /(HTTP\/1\.1 200 .*){3}/s],
  ])('gets the answer to %s, and the connection ends', async (_what, bytes, expected) => {
    const { port, isEmpty } = await serving();
    expect(await halfClosed(await openRaw({ port, host: '127.0.0.1' }), bytes)).toMatch(expected);
    await isEmpty();
  });

  it('gets a long list whole', async () => {
    const { app, port } = await serving();
    for (let n = 0; n < 20; n += 1)
      await app.inject({ method: 'POST', url: '/panel/api/users/bulk', payload: { count: 1000 } });
    const text = await halfClosed(await openRaw({ port, host: '127.0.0.1' }), rawRequest('GET', '/panel/api/users'));
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(body).toHaveLength(Number(/content-length: (\d+)/.exec(head)?.[1]));
    expect(body.length).toBeGreaterThan(2_000_000);
  });

  it('gets its answer over TLS, too', async () => {
    const tls = { cert: CERTIFICATE, key: PRIVATE_KEY };
    const { port, isEmpty } = await serving({
      createServer: (options, listener) => createServer({ ...options, ...tls }, listener),
    });
    const to = { port, host: '127.0.0.1', allowHalfOpen: true };
    const socket = connect({ ...to, ca: CERTIFICATE, servername: 'doh.test' });
    const client = rawClient(socket);
    await once(socket, 'secureConnect');
    const list = rawRequest('GET', '/panel/api/users', { 'accept-encoding': 'br' });
    expect(await halfClosed(client, list)).toMatch(/^HTTP\/1\.1 200 /);
    await isEmpty();
  });

  it('with half a request is told so, and one with none is just ended', async () => {
    const { port, isEmpty } = await serving();
    const started = rawRequest('POST', '/panel/api/users', { 'content-length': '100' }, '{');
    expect(await halfClosed(await openRaw({ port, host: '127.0.0.1' }), started)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await halfClosed(await openRaw({ port, host: '127.0.0.1' }), '')).toBe('');
    await isEmpty();
  });

  it('while its connection is kept and idle has it ended at once', async () => {
    const { port, isEmpty } = await serving();
    const client = await openRaw({ port, host: '127.0.0.1' });
    client.socket.write(STATUS);
    await client.received(/\}\}$/);
    client.socket.end();
    await client.ended;
    await isEmpty();
  });
});

it('what is no HTTP behind a request is answered behind that, not in its place', async () => {
  const { port } = await serving();
  const client = await openRaw({ port, host: '127.0.0.1' });
  client.socket.write(`${rawRequest('GET', '/panel/api/users', { 'accept-encoding': 'br' })}no HTTP at all\r\n\r\n`);
  expect(await client.ended).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 400 .*the request is no HTTP/s);
});
