import { once } from 'node:events';
import { createServer as createPlain } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { type ConnectionsOptions, createConnections } from '../../src/serve/connections.js';
import { acceptBody } from '../../src/sockets/awaited-bodies.js';
import type { CreateServer } from '../../src/sockets/followed-connections.js';
import { type BoundedConnection, createOpenConnections } from '../../src/sockets/open-connections.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { openRaw, type RawClient, rawClient, rawRequest } from '../raw-client.js';

const WAIT = { timeout: 20_000 };
const ASK = rawRequest('GET', '/');
/** More than any system keeps for a client that does not read. */
const LARGE = Buffer.alloc(48 * 1024 * 1024, 'x');

const secure: CreateServer = (options, listener) =>
  createSecure({ ...options, cert: CERTIFICATE, key: PRIVATE_KEY }, listener);

/** A listener that answers `GET /` at once, and `GET /slow` when it is told to. */
async function listening(options: Partial<ConnectionsOptions>, make: CreateServer = createPlain, path?: string) {
  const lines: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = [];
  const note = (fields: Readonly<Record<string, unknown>>, message: string) => void lines.push({ fields, message });
  const log: LogPort = { debug: note, info: note, warn: note, error: note };
  const connections = createConnections({ maxConnections: 8, trustProxy: [], log, ...options });
  const slow: (() => void)[] = [];
  const server = connections.serverFor('api', make)({}, (request, response) => {
    const answer = () => response.end(`answer to ${request.url}`);
    if (request.url?.startsWith('/accepted')) acceptBody(request);
    if (request.url?.endsWith('large')) response.end(LARGE);
    else if (request.url === '/slow') slow.push(answer);
    else if (request.method === 'POST') request.on('end', answer).resume();
    else answer();
  });
  server.listen(path === undefined ? { port: 0, host: '::' } : { path });
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const closed = () => new Promise((resolve) => server.close(resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    if (server.listening) await closed();
  });
  const figures = () => connections.figures().find(({ listener }) => listener === 'api');
  const open = (count: number) => vi.waitFor(() => expect(figures()?.open).toBe(count), WAIT);
  /** Connects, and waits until the listener has seen it. */
  async function from(localAddress: string): Promise<RawClient> {
    const seen = once(server, 'connection');
    const host = localAddress.includes(':') ? '::1' : '127.0.0.1';
    const client = await openRaw(path === undefined ? { port, host, localAddress } : { path });
    await seen;
    return client;
  }
  return { server, port, from, figures, open, slow, lines, closed };
}

async function asked(client: RawClient, path = '/'): Promise<void> {
  const before = client.text().length;
  client.socket.write(rawRequest('GET', path));
  if (path === '/') await vi.waitFor(() => expect(client.text().length).toBeGreaterThan(before), WAIT);
}

describe('a full listener', () => {
  it('closes the connection that is idle longest, and refuses a new one where none is idle', async () => {
    const { from, figures, open, slow, lines } = await listening({ maxConnections: 3 });
    const [first, second, third] = [await from('127.0.0.1'), await from('127.0.0.2'), await from('127.0.0.3')];
    await asked(first);
    const fourth = await from('127.0.0.4');
    await second.ended;
    expect([first.isEnded(), third.isEnded()]).toEqual([false, false]);
    for (const client of [first, third, fourth]) await asked(client, '/slow');
    await vi.waitFor(() => expect(slow).toHaveLength(3), WAIT);
    const refused = await from('127.0.0.5');
    expect(await refused.ended).toBe('');
    await open(3);
    expect(figures()).toEqual({
      listener: 'api',
      open: 3,
      closedIdle: { full: 1, share: 0 },
      refused: { full: 1, share: 0 },
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      fields: { listener: 'api' },
      message: expect.stringContaining('--max-connections'),
    });
    for (const answer of slow) answer();
    for (const client of [first, third, fourth]) await client.received(/answer to \/slow$/);
    await from('127.0.0.6');
    await first.ended;
    expect(fourth.isEnded()).toBe(false);
  });

  it('has room again when connections end by themselves', async () => {
    const { from, open, figures } = await listening({ maxConnections: 2 });
    for (let n = 0; n < 5; n += 1) {
      const client = await from('127.0.0.1');
      client.socket.destroy();
      await open(0);
    }
    expect(figures()?.closedIdle).toEqual({ full: 0, share: 0 });
  });

  it('counts connections of TLS, before their handshake as well, and knows which of them is busy', async () => {
    const { port, from, open, slow } = await listening({ maxConnections: 2 }, secure);
    const silent = await from('127.0.0.2');
    const socket = connect({ port, host: '127.0.0.1', ca: CERTIFICATE, servername: 'doh.test' });
    const client = rawClient(socket);
    await once(socket, 'secureConnect');
    socket.write(rawRequest('GET', '/slow'));
    await vi.waitFor(() => expect(slow).toHaveLength(1), WAIT);
    await from('127.0.0.3');
    await silent.ended;
    await from('127.0.0.4');
    await open(2);
    slow[0]?.();
    await client.received(/answer to \/slow$/);
  });
});

describe('one address', () => {
  it('has at most a quarter: the one of its own that is idle longest makes room, and others are not touched', async () => {
    const { from, figures, open } = await listening({ maxConnections: 8 });
    const other = await from('127.0.0.9');
    const own = [await from('127.0.0.1'), await from('127.0.0.1'), await from('127.0.0.1')];
    await own[0]?.ended;
    await open(3);
    expect([other.isEnded(), own[1]?.isEnded(), own[2]?.isEnded()]).toEqual([false, false, false]);
    expect(figures()?.closedIdle).toEqual({ full: 0, share: 1 });
  });

  it('is refused a further one where all of its own are busy', async () => {
    const { from, figures, slow, lines } = await listening({ maxConnections: 8 });
    for (const client of [await from('127.0.0.1'), await from('127.0.0.1')]) await asked(client, '/slow');
    await vi.waitFor(() => expect(slow).toHaveLength(2), WAIT);
    await (await from('127.0.0.1')).ended;
    expect(figures()).toMatchObject({ open: 2, refused: { full: 0, share: 1 } });
    expect(lines[0]?.fields).toEqual({ listener: 'api', address: '127.0.0.1' });
    expect((await from('127.0.0.2')).isEnded()).toBe(false);
  });

  it.each([
    ['one /64', ['2001:db8:1:2::1', '2001:db8:1:2:ffff::1', '2001:db8:1:2::3'], 1],
    ['one /56', ['2001:db8:1:201::1', '2001:db8:1:2ff::1', '2001:db8:1:200::1'], 1],
    ['no shorter prefix', ['2001:db8:1:100::1', '2001:db8:1:200::1', '2001:db8:1:300::1'], 0],
  ])('of IPv6 is %s', async (_what, addresses, closed) => {
    const { server, from, figures, open } = await listening({ maxConnections: 8 });
    const rest = [...addresses];
    server.prependListener('connection', (socket) => {
      Object.defineProperty(socket, 'remoteAddress', { value: rest.shift() });
    });
    for (const _ of addresses) await from('::1');
    await open(addresses.length - closed);
    expect(figures()?.closedIdle.share).toBe(closed);
  });

  it('of IPv6 on a real socket is one network', async () => {
    const { from, figures, open } = await listening({ maxConnections: 8 });
    const [first] = [await from('::1'), await from('::1'), await from('::1')];
    await first?.ended;
    await open(2);
    expect(figures()?.closedIdle.share).toBe(1);
  });

  it('of a trusted proxy has no share, and a Unix socket has none', async () => {
    const trusting = await listening({ maxConnections: 8, trustProxy: ['127.0.0.0/8'] });
    for (let n = 0; n < 8; n += 1) await trusting.from('127.0.0.1');
    await trusting.open(8);
    const folder = await folderForTest();
    const local = await listening({ maxConnections: 8 }, createPlain, join(folder, 'a.sock'));
    for (let n = 0; n < 8; n += 1) await local.from('127.0.0.1');
    await local.open(8);
    const first = await local.from('127.0.0.1');
    await local.open(8);
    expect(local.figures()).toMatchObject({ closedIdle: { full: 1, share: 0 } });
    expect(first.isEnded()).toBe(false);
  });
});

it('a network that has its share costs a look at its own connections, however many others have', () => {
  const open = createOpenConnections<BoundedConnection>(4_096);
  let looks = 0;
  const connection = (network: string): BoundedConnection => ({
    network,
    isBusy: () => {
      looks += 1;
      return false;
    },
  });
  for (let n = 0; n < 3_000; n += 1) open.touch(connection(`others ${n % 3}`));
  const own = Array.from({ length: 1_024 }, () => connection('own'));
  for (const one of own) open.touch(one);
  const [first, second] = own;
  if (first !== undefined) open.touch(first);
  expect([open.passedBy('own'), open.passedBy('others 1')]).toEqual(['share', null]);
  expect(open.idleLongest('own')).toBe(second);
  expect(looks).toBe(1);
  for (const one of own) open.remove(one);
  expect(open.idleLongest('own')).toBeNull();
  expect([open.size, open.passedBy('own')]).toEqual([3_000, null]);
});

describe('a body that no credential vouches for', () => {
  const begin = (client: RawClient, path = '/') =>
    client.socket.write(rawRequest('POST', path, { 'content-length': '50' }, '{'));

  it('counts as idle while it does not come: whoever fills a listener with them makes room for everyone else', async () => {
    const { from, figures, open, slow } = await listening({ maxConnections: 8 });
    const busy = await from('127.0.0.8');
    await asked(busy, '/slow');
    await vi.waitFor(() => expect(slow).toHaveLength(1), WAIT);
    for (let n = 0; n < 12; n += 1) begin(await from(`127.0.1.${1 + (n % 5)}`));
    await open(8);
    for (let n = 0; n < 10; n += 1) {
      const operator = await from('127.0.0.9');
      await asked(operator);
      operator.socket.destroy();
      begin(await from(`127.0.1.${1 + (n % 5)}`));
    }
    expect(figures()?.refused).toEqual({ full: 0, share: 0 });
    expect(busy.isEnded()).toBe(false);
  });

  it('keeps to the least pace, or its connection ends; one that was accepted takes its time', async () => {
    const { from } = await listening({ bodyPace: { whole: 60_000, window: 100, leastBytes: 60 } });
    const [slow, accepted] = [await from('127.0.0.1'), await from('127.0.0.2')];
    begin(accepted, '/accepted');
    begin(slow);
    await slow.ended;
    expect(accepted.isEnded()).toBe(false);
    accepted.socket.write(' '.repeat(49));
    await accepted.received(/answer to \/accepted$/);
  });

  it('has only so long, however fast it comes', async () => {
    const { from } = await listening({ bodyPace: { whole: 300, window: 60, leastBytes: 1 } });
    const client = await from('127.0.0.1');
    client.socket.write(rawRequest('POST', '/', { 'content-length': '1000000' }, ' '));
    const drip = setInterval(() => client.socket.write(' '.repeat(20)), 5);
    onTestFinished(() => clearInterval(drip));
    expect(await client.ended).toBe('');
  });
});

describe('an answer that waits unread', () => {
  it.each([
    ['plain', createPlain, null],
    ['TLS', secure, 'TLS'],
  ] as const)('counts as idle over %s after a while, unless the client was let in by a credential', async (_name, make, tls) => {
    const pace = { whole: 200, window: 1_000, leastBytes: 0 };
    const { server, port, from, figures } = await listening({ maxConnections: 2, bodyPace: pace }, make);
    let requests = 0;
    server.on('request', () => {
      requests += 1;
    });
    const reading = async (localAddress: string) => {
      if (tls === null) return from(localAddress);
      const plain = connectPlain({ port, host: '127.0.0.1', localAddress });
      const socket = connect({ socket: plain, ca: CERTIFICATE, servername: 'doh.test' });
      const client = rawClient(socket);
      await once(socket, 'secureConnect');
      return client;
    };
    const [stranger, accepted] = [await reading('127.0.0.1'), await reading('127.0.0.2')];
    for (const { socket } of [stranger, accepted]) socket.pause();
    stranger.socket.write(rawRequest('GET', '/large'));
    accepted.socket.write(rawRequest('GET', '/accepted/large'));
    await vi.waitFor(() => expect(requests).toBe(2), WAIT);
    await vi.waitFor(async () => {
      const operator = await reading('127.0.0.3');
      operator.socket.write(ASK);
      await operator.received(/answer to \/$/);
    }, WAIT);
    expect(figures()?.closedIdle).toEqual({ full: 1, share: 0 });
    accepted.socket.resume();
    await vi.waitFor(() => expect(accepted.text().length).toBeGreaterThan(LARGE.length), WAIT);
  });
});

describe('a server that closes', () => {
  it('ends idle connections soon, and those under way behind their answers', async () => {
    const { from, slow, closed, open } = await listening({});
    const idle = await from('127.0.0.1');
    await asked(idle);
    const busy = await from('127.0.0.2');
    await asked(busy, '/slow');
    await vi.waitFor(() => expect(slow).toHaveLength(1), WAIT);
    const end = closed();
    await idle.ended;
    expect(busy.isEnded()).toBe(false);
    slow[0]?.();
    expect(await busy.ended).toMatch(/answer to \/slow$/);
    await end;
    await open(0);
  });

  it('answers what had arrived and was not begun, half-closed or not', async () => {
    const { server, port, closed } = await listening({ maxConnections: 1_000 });
    const clients: RawClient[] = [];
    const kept: RawClient[] = [];
    for (let n = 0; n < 30; n += 1) {
      const client = await openRaw({ port, host: '127.0.0.1' });
      await asked(client);
      kept.push(client);
    }
    for (let n = 0; n < 30; n += 1) clients.push(await openRaw({ port, host: '127.0.0.1' }));
    await vi.waitFor(
      async () => expect(await new Promise((resolve) => server.getConnections((_e, count) => resolve(count)))).toBe(60),
      WAIT,
    );
    // In one turn: none of it is read before the server begins to close.
    for (const [n, client] of [...kept, ...clients].entries()) {
      if (n % 2 === 0) client.socket.end(ASK);
      else client.socket.write(ASK);
    }
    const end = closed();
    for (const client of clients) expect(await client.ended).toMatch(/answer to \/$/);
    for (const client of kept) expect(await client.ended).toMatch(/(answer to \/.*){2}$/s);
    await end;
  });

  it('does not wait for a client that says nothing, or half a request', async () => {
    const { from, closed } = await listening({});
    await from('127.0.0.1');
    const half = await from('127.0.0.2');
    half.socket.write('GET / HTT');
    await sleep(50);
    await closed();
    expect(half.text()).toBe('');
  });
});
