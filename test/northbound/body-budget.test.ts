import { createServer as createHttpServer } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BODY_BUDGET, createBodyBudget } from '../../src/northbound/body-budget.js';
import { withFollowed } from '../../src/sockets/followed-connections.js';
import { openRaw, rawRequest } from '../raw-client.js';
import { gatewayForTest, listen, PASSWORD_HASH } from './gateway.js';

const MEBIBYTE = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };
const LISTENER = { token: 'right', username: 'admin', passwordHash: PASSWORD_HASH };

describe('the budget', () => {
  it('has the longest body give way, and gives back what is released', () => {
    const budget = createBodyBudget(100);
    const dropped: string[] = [];
    const hold = (name: string) => budget.open(() => dropped.push(name));
    const [short, long, own] = [hold('short'), hold('long'), hold('own')];
    short.take(10);
    long.take(60);
    own.take(30);
    expect(dropped).toEqual([]);
    short.take(5);
    expect(dropped).toEqual(['long']);
    long.take(1_000);
    expect(dropped).toEqual(['long']);
    own.take(80);
    expect(dropped).toEqual(['long', 'own']);
    short.release();
    hold('last').take(100);
    expect(dropped).toEqual(['long', 'own']);
  });
});

describe('a gateway that many long bodies are sent to without a credential', () => {
  const sockets: { destroy(): void }[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Begins to create so many keys, each with a mebibyte of which the last byte never comes. */
  async function beginCreations(port: number, count: number) {
    const body = Buffer.alloc(MEBIBYTE - 1, 0x20);
    const clients = [];
    for (let n = 0; n < count; n += 1) {
      const client = await openRaw({ port, host: '127.0.0.1' });
      sockets.push(client.socket);
      client.socket.write(rawRequest('POST', '/panel/api/users', { ...JSON_TYPE, 'content-length': `${MEBIBYTE}` }));
      await new Promise((resolve) => client.socket.write(body, resolve));
      clients.push(client);
    }
    return clients;
  }

  it('answers those beyond 16 MiB with 503 and Retry-After, and takes a short one meanwhile', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }] });
    const port = await listen(app);
    const clients = await beginCreations(port, 20);
    const refused = () => clients.filter((client) => /^HTTP\/1\.1 503 /.test(client.text()));
    await vi.waitFor(() => expect(refused()).toHaveLength(4), { timeout: 20_000 });
    const [one] = refused();
    expect(one?.text()).toMatch(/retry-after: 1\r\n.*\{"ok":false,"error":"too many request bodies[^"]*"\}/s);
    expect(one?.isEnded()).toBe(false);
    const url = `http://127.0.0.1:${port}/panel/api`;
    const body = JSON.stringify({ access_key: 'short' });
    expect((await fetch(`${url}/users`, { method: 'POST', headers: JSON_TYPE, body })).status).toBe(200);
    expect(refused().length).toBeLessThanOrEqual(5);
  });

  it('takes a longer one than all of these with a credential', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER });
    const headers = { ...JSON_TYPE, authorization: 'Bearer right' };
    const payload = JSON.stringify({ mode: 'server', padding: 'x'.repeat(BODY_BUDGET + 1) });
    // It is read whole, and refused for what it says: there is no file to replace.
    const answer = await app.inject({ method: 'PUT', url: '/panel/api/server/config', headers, payload });
    expect(answer.json().error).toBe('No config path registered (run-time only)');
  });

  it('takes bodies again once the earlier ones are gone', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }] });
    const port = await listen(app);
    for (let round = 0; round < 3; round += 1) {
      const clients = await beginCreations(port, 12);
      for (const client of clients) client.socket.destroy();
      await vi.waitFor(
        async () =>
          expect(await new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)))).toBe(0),
        { timeout: 20_000 },
      );
      for (const client of clients) expect(client.text()).toBe('');
    }
  });

  it('on an open mount answers 413 to one that is longer than all may be', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }] });
    const port = await listen(app);
    const headers = { ...JSON_TYPE, 'content-length': `${BODY_BUDGET + 1}` };
    const client = await openRaw({ port, host: '127.0.0.1' });
    client.socket.write(rawRequest('PUT', '/panel/api/server/config', headers));
    expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 413 .*at most 16777216 bytes/s);
  });

  it.each([
    '/panel/api/login',
    '/nowhere',
  ])('answers a client that wants its connection closed so, and reads what it still sends: %s', async (path) => {
    // However long that takes here: some seconds later the connection is closed whatever the client sends.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER });
    const client = await openRaw({ port: await listen(app), host: '127.0.0.1' });
    const errors: Error[] = [];
    client.socket.on('error', (error) => errors.push(error));
    const headers = { ...JSON_TYPE, connection: 'close', 'content-length': `${8 * MEBIBYTE}` };
    client.socket.write(rawRequest('POST', path, headers));
    const answer = await client.received(/\}$/);
    expect(answer).toMatch(/^HTTP\/1\.1 4(?:04|13) .*^connection: close\r$/ims);
    for (let n = 0; n < 8; n += 1) {
      expect(client.isEnded()).toBe(false);
      await new Promise((resolve) => client.socket.write(Buffer.alloc(MEBIBYTE), resolve));
    }
    await client.ended;
    expect(errors).toEqual([]);
  });

  it('answers what no route serves before its body has come', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }] });
    const client = await openRaw({ port: await listen(app), host: '127.0.0.1' });
    client.socket.write(rawRequest('POST', '/nowhere', { ...JSON_TYPE, 'content-length': '1000000' }));
    expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe('a body that does not come', () => {
  const pace = { whole: 60_000, window: 100, leastBytes: 1_000 };
  const createServer = withFollowed(createHttpServer, {}, pace);
  const login = rawRequest('POST', '/panel/api/login', { ...JSON_TYPE, 'content-length': '50' }, '{');

  it('without an accepted credential is answered 408, and its connection ends as the answer says', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER, createServer });
    const client = await openRaw({ port: await listen(app), host: '127.0.0.1' });
    client.socket.write(login);
    const answer = await client.received(/\}$/);
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*"the request took too long to arrive"/s);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(answer).not.toMatch(/keep-alive/i);
    client.socket.end();
    await client.ended;
  });

  it('on an open mount is waited for as long as it keeps to the least rate', async () => {
    const patient = withFollowed(createHttpServer, {}, { whole: 200, window: 100, leastBytes: 0 });
    const [slow, waiting] = await Promise.all(
      [createServer, patient].map(async (create) => {
        const app = await gatewayForTest({ mounts: [{ revision: 'current' }], createServer: create });
        const port = await listen(app);
        const client = await openRaw({ port, host: '127.0.0.1' });
        const headers = { ...JSON_TYPE, 'content-length': '18' };
        client.socket.write(rawRequest('POST', '/panel/api/users', headers, '{"access_key"'));
        return { client, port };
      }),
    );
    await slow?.client.received(/^HTTP\/1\.1 408 /);
    // One that nobody waits for any longer had begun later.
    const stranger = await openRaw({ port: waiting?.port ?? 0, host: '127.0.0.1' });
    stranger.socket.write(login);
    await stranger.received(/^HTTP\/1\.1 408 /);
    waiting?.client.socket.write(':"a"}');
    expect(await waiting?.client.received(/\}$/)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('with an accepted one is waited for', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER, createServer });
    const port = await listen(app);
    const [operator, stranger] = [
      await openRaw({ port, host: '127.0.0.1' }),
      await openRaw({ port, host: '127.0.0.1' }),
    ];
    const headers = { ...JSON_TYPE, authorization: 'Bearer right', 'content-length': '18' };
    operator.socket.write(rawRequest('POST', '/panel/api/users', headers, '{"access_key"'));
    stranger.socket.write(login);
    await stranger.received(/^HTTP\/1\.1 408 /);
    operator.socket.write(':"a"}');
    expect(await operator.received(/\}$/)).toMatch(/^HTTP\/1\.1 200 /);
  });
});
