import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { NetConnectOpts, Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecure } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { acceptClient } from '../../src/sockets/awaited-bodies.js';
import { type CreateServer, withFollowed } from '../../src/sockets/followed-connections.js';
import { allowHalfClose } from '../../src/sockets/http-server.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { openRaw, type RawClient, rawClient, rawRequest } from '../raw-client.js';
import { someOf } from '../whole.js';

const WAIT = { timeout: 20_000 };

const secure: CreateServer = (options, listener) =>
  createSecure({ ...options, cert: CERTIFICATE, key: PRIVATE_KEY }, listener);

interface Begun {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A listener whose requests are answered when the test says so; `/known…` shows a credential. */
async function listening(make: CreateServer = createServer, path?: string) {
  const begun: Begun[] = [];
  const sockets: Socket[] = [];
  const server = withFollowed(make)({}, (request, response) => {
    if (request.url?.startsWith('/known')) acceptClient(request);
    begun.push({ request, response });
  });
  server.on(make === secure ? 'secureConnection' : 'connection', (socket: Socket) => sockets.push(socket));
  server.listen(path === undefined ? { port: 0, host: '127.0.0.1' } : { path });
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const to: NetConnectOpts = path === undefined ? { port, host: '127.0.0.1' } : { path };
  const urls = () => begun.map(({ request }) => request.url);
  const begins = (count: number) => vi.waitFor(() => expect(begun).toHaveLength(count), WAIT);
  const answer = (index: number) => begun[index]?.response.end(`to ${begun[index]?.request.url}.`);
  /** Answers those from one on, each as soon as it has begun. */
  async function answerAll(from: number, to: number): Promise<void> {
    for (let index = from; index < to; index += 1) {
      while (begun.length <= index) await new Promise(setImmediate);
      answer(index);
    }
  }
  return { server, begun, sockets, to, port, urls, begins, answer, answerAll };
}

const requests = (count: number, path = '/') =>
  Array.from({ length: count }, (_, index) => rawRequest('GET', `${path}${index}`)).join('');

/** The bodies of the answers that have come, in their order. */
const told = (client: RawClient) => [...client.text().matchAll(/to (\S+?)\./g)].map(([, url]) => url);

async function overTls(port: number): Promise<RawClient> {
  const socket = connectSecure({ port, host: '127.0.0.1', ca: CERTIFICATE, servername: 'doh.test' });
  const client = rawClient(socket);
  await once(socket, 'secureConnect');
  return client;
}

describe('of the requests that one connection sends at once', () => {
  it.each([
    ['four begin without a credential', '/', 4],
    ['sixteen begin with an accepted one', '/known', 16],
  ])('%s, and each further one with an answer; all are answered in their order', async (_what, path, most) => {
    const { to, begins, answer, answerAll, urls, begun } = await listening();
    const client = await openRaw(to);
    client.socket.write(requests(40, path));
    await begins(most);
    // The second first: its answer waits for the one before it, and no other begins meanwhile.
    answer(1);
    await new Promise(setImmediate);
    expect(begun).toHaveLength(most);
    answer(0);
    await begins(most + 2);
    await answerAll(2, 40);
    const all = Array.from({ length: 40 }, (_, index) => `${path}${index}`);
    await vi.waitFor(() => expect(told(client)).toEqual(all), WAIT);
    expect(urls()).toEqual(all);
  });

  it('sixteen begin on a Unix socket', async () => {
    const folder = await folderForTest();
    const { to, begins, begun } = await listening(createServer, join(folder, 's'));
    (await openRaw(to)).socket.write(requests(40));
    await begins(16);
    await new Promise(setImmediate);
    expect(begun).toHaveLength(16);
  });
});

describe('a connection whose requests wait', () => {
  it.each(
    someOf(
      [
        ['plain', createServer],
        ['with TLS', secure],
      ],
      1,
    ),
  )('%s is not read on, whatever is answered, until they have begun', async (_what, make) => {
    const { to, port, begins, answer, answerAll, sockets } = await listening(make);
    const client = make === secure ? await overTls(port) : await openRaw(to);
    const each = rawRequest('GET', '/', { 'x-filler': 'x'.repeat(1_000) });
    const count = 5_000;
    client.socket.write(each.repeat(count));
    await begins(4);
    const [socket] = sockets;
    let read = -1;
    await vi.waitFor(() => {
      const before = read;
      read = socket?.bytesRead ?? 0;
      expect(read).toBe(before);
    }, WAIT);
    expect(read).toBeLessThan(400_000);
    // Node would read on after each of these.
    for (let index = 0; index < 20; index += 1) {
      answer(index);
      await begins(index + 5);
    }
    expect(socket?.bytesRead).toBe(read);
    await answerAll(20, count);
    await vi.waitFor(() => expect(told(client)).toHaveLength(count), WAIT);
  });

  it('is read on for the body of the last of them', async () => {
    const { to, begins, answer, answerAll, begun } = await listening();
    const client = await openRaw(to);
    client.socket.write(`${requests(4)}${rawRequest('POST', '/body', { 'content-length': '5' }, 'ab')}`);
    await begins(4);
    client.socket.write('cde');
    await answerAll(0, 4);
    await begins(5);
    let body = '';
    begun[4]?.request.setEncoding('utf8').on('data', (part) => {
      body += part;
    });
    await vi.waitFor(() => expect(body).toBe('abcde'), WAIT);
    answer(4);
    await client.received(/to \/body\.$/);
  });

  it('gets all its answers although the client has ended its side', async () => {
    const { to, answerAll, begins, server } = await listening();
    allowHalfClose(server);
    const client = await openRaw(to);
    client.socket.end(requests(10));
    await begins(4);
    await answerAll(0, 10);
    await client.ended;
    expect(told(client)).toHaveLength(10);
  });

  it('begins none of them behind an answer that closes it', async () => {
    const { to, begins, begun } = await listening();
    const client = await openRaw(to);
    client.socket.write(requests(40));
    await begins(4);
    begun[0]?.response.writeHead(429, { connection: 'close' }).end('no.');
    await client.ended;
    await new Promise(setImmediate);
    expect(begun).toHaveLength(4);
  });

  it('is ended where it has the most of too many that wait in all, and a stranger first', async () => {
    const { to, begins, begun, answer } = await listening();
    const known = await openRaw(to);
    known.socket.write(requests(1_000, '/known'));
    await begins(16);
    const many = Array.from({ length: 16 }, () => openRaw(to));
    const strangers = await Promise.all(many);
    for (const { socket } of strangers) socket.write('GET / HTTP/1.1\r\nhost:x\r\n\r\n'.repeat(3_000));
    await vi.waitFor(() => expect(strangers.filter((each) => each.isEnded()).length).toBeGreaterThan(0), WAIT);
    expect(strangers.filter((each) => !each.isEnded()).length).toBeGreaterThan(3);
    expect(known.isEnded()).toBe(false);
    answer(0);
    await known.received(/to \/known0\.$/);
    expect(begun.length).toBeLessThanOrEqual(17 + 4 * 16);
  });
});
