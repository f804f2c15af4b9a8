import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ProxiedExchange, startProxy } from '../../src/lab/record/proxy.js';
import { openRaw } from '../raw-client.js';

/** A server that says these bytes to each head that comes, and a proxy before it. */
async function stage(answer: string, isLast = false) {
  const open = new Set<Socket>();
  const state = { got: '', opened: 0 };
  const server = createServer((socket) => {
    state.opened += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      state.got += text;
      if (answer === '' || !text.includes('HTTP/1.1\r\n')) return;
      socket.write(answer, 'latin1');
      if (isLast) socket.end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const exchanges: ProxiedExchange[] = [];
  const proxy = await startProxy({
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // It listens at a port.
    listen: { host: '127.0.0.1', port: 0 },
    onExchange: (exchange) => exchanges.push(exchange),
    onFailure: () => undefined,
  });
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    server.close();
    await proxy.close();
  });
  const port = Number(new URL(proxy.url).port);
  const client = () => openRaw({ port, host: '127.0.0.1' });
  return { state, open, exchanges, client, port };
}

const GET = 'GET /a HTTP/1.1\r\nHost: h\r\n';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('a client of the proxy gets what the server says, byte for byte', () => {
  test.each([
    [
      'trailers',
      GET,
      'HTTP/1.1 200 OK\r\nTrailer: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx: 1\r\n\r\n',
    ],
    ['early hints', GET, `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`],
    ['letters beyond ASCII in a head', GET, 'HTTP/1.1 200 \xd6k\r\nname: \xe9\r\ncontent-length: 2\r\n\r\nok'],
    ['an answer to what it expects that no proxy knows', `${GET}Expect: much\r\n`, OK],
    ['an answer to a request without Host', 'GET /a HTTP/1.1\r\n', OK],
  ])('%s', async (_, request, answer) => {
    const { client } = await stage(answer);
    const { socket, received, text } = await client();
    socket.write(`${request}\r\n`);
    await received(/ok(?:\r\n0\r\nx: 1\r\n\r\n)?$/);
    expect(text()).toBe(answer);
  });

  test('an answer that ends with its connection', async () => {
    const { client } = await stage('HTTP/1.1 200 OK\r\n\r\nto the end', true);
    const { socket, ended } = await client();
    socket.write(`${GET}\r\n`);
    expect(await ended).toBe('HTTP/1.1 200 OK\r\n\r\nto the end');
  });

  test('a refusal before it sends its body, and no leave to send it', async () => {
    const answer = 'HTTP/1.1 417 No\r\ncontent-length: 2\r\n\r\nok';
    const { client, exchanges } = await stage(answer);
    const { socket, ended } = await client();
    socket.write('POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
    expect(await ended).toBe(answer);
    expect(exchanges).toEqual([]);
  });

  test('an end where the server speaks another protocol from now on', async () => {
    const { client } = await stage('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    const { socket, ended } = await client();
    socket.write(`${GET}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
    expect(await ended).toBe('');
  });

  test('by HTTP/1.0 no chunks, and the server a Host', async () => {
    const { client, state } = await stage('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n');
    const { socket, ended } = await client();
    socket.write('GET /a HTTP/1.0\r\n\r\n');
    expect(await ended).toBe('HTTP/1.1 200 OK\r\n\r\nok');
    expect(state.got).toMatch(/^GET \/a HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
  });
});

describe('heads that are longer, or of more lines, than Node takes by itself', () => {
  const LINES = Array.from({ length: 3_000 }, (_, number) => `x-${number}: ${'v'.repeat(80)}\r\n`).join('');

  test('pass in both directions, and are recorded', async () => {
    const answer = `HTTP/1.1 200 OK\r\n${LINES}content-length: 2\r\n\r\nok`;
    const { client, state, exchanges } = await stage(answer);
    const { socket, received, text } = await client();
    socket.write(`${GET}${LINES}\r\n`);
    await received(/ok$/);
    expect(text()).toBe(answer);
    await expect.poll(() => state.got.includes(LINES)).toBe(true);
    await expect.poll(() => exchanges).toHaveLength(1);
    const [exchange] = exchanges;
    const kept = [exchange?.requestHeaders, exchange?.responseHeaders].map((headers) => headers?.size ?? 0);
    expect(Math.min(...kept)).toBeGreaterThan(3_000);
  });
});

describe('the proxy goes on', () => {
  test.each([
    ['a request names a trailer without a place for it', `${GET}Trailer: x\r\n`, OK, OK],
    ['an answer does', GET, `HTTP/1.1 200 OK\r\nTrailer: x\r\ncontent-length: 2\r\n\r\nok`, OK],
    ['an answer has a status that is none', GET, 'HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\nok', ''],
    ['a path has bytes that Node would not write', 'GET /a\tb HTTP/1.1\r\nHost: h\r\n', OK, null],
  ])('where %s', async (_, request, answer, expected) => {
    const { client } = await stage(answer);
    for (const _again of [1, 2]) {
      const { socket, ended } = await client();
      socket.write(`${request}Connection: close\r\n\r\n`);
      const text = await Promise.race([ended, once(socket, 'data').then(String)]);
      if (expected !== null) expect(text).toBe(expected);
    }
  });
});

/** Sends a request as often as it is told, each on a connection of its own, and tells what came first of each answer. */
const FIRST_BYTES = `
  const { connect } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const ask = () => new Promise((resolve) => {
    const socket = connect(workerData.port, '127.0.0.1').once('data', (first) => resolve(String(socket.destroy() && first)));
    socket.write(workerData.request);
  });
  (async () => {
    const all = [];
    for (let turn = 0; turn < workerData.turns; turn += 1) all.push(await ask());
    parentPort.postMessage(all);
  })();
`;

test('what comes with a head goes out with it', async () => {
  const { port } = await stage(OK);
  // In the thread of the proxy nobody reads anything between its writes.
  const client = new Worker(FIRST_BYTES, { eval: true, workerData: { port, request: `${GET}\r\n`, turns: 50 } });
  const [first] = await once(client, 'message');
  expect(first).toEqual(Array.from({ length: 50 }, () => OK));
});

describe('a request through the proxy', () => {
  test('without a body has none at the server', async () => {
    const { client, state } = await stage(OK);
    const { socket, received } = await client();
    socket.write('POST /a HTTP/1.1\r\nHost: h\r\n\r\n');
    await received(/ok$/);
    expect(state.got.toLowerCase()).not.toContain('chunked');
  });

  test('reaches the server before its body, with its trailers behind', async () => {
    const { client, state } = await stage('');
    const { socket } = await client();
    socket.write('POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n');
    await expect.poll(() => state.got).toMatch(/\r\n\r\n$/);
    socket.write('2\r\nok\r\n0\r\nx: 1\r\n\r\n');
    await expect.poll(() => state.got).toMatch(/\r\n2\r\nok\r\n0\r\nx: 1\r\n\r\n$/);
  });

  test('that is answered before it has come whole passes on, and is not recorded', async () => {
    const { client, exchanges, state } = await stage(OK);
    const { socket, received } = await client();
    socket.write('POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 600000\r\n\r\n');
    await received(/ok$/);
    socket.write('x'.repeat(600_000));
    await expect.poll(() => state.got.length).toBeGreaterThan(600_000);
    socket.destroy();
    expect(exchanges).toEqual([]);
  });

  test('leaves no connection to the server behind where its client left with more of them', async () => {
    const { client, open, state } = await stage('');
    const { socket } = await client();
    socket.write(`${GET}\r\n`.repeat(3));
    await expect.poll(() => state.got).toContain('\r\n\r\n');
    socket.resetAndDestroy();
    await expect.poll(() => open.size).toBe(0);
  });
});
