import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startProxy, type UnreadExchange } from '../../src/replay/record/proxy.js';
import { Backlog } from '../../src/shadow/traffic.js';
import { openRaw } from '../raw-client.js';
import { bodyOf, scriptedServer } from '../stand-in/scripted-server.js';
import { startLiveServer } from './live-server.js';

/** Requests that may wait for the shadow. */
const MOST_REQUESTS = 10_000;

/** Asks a thing without a body, to be answered by none. */
function head(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'HEAD', agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    });
    asked.on('error', reject).end();
  });
}

test('a request without any body is dropped where the queue is full, and answered', async () => {
  const { origin } = await startLiveServer('current');
  const backlog = new Backlog();
  const [kept, dropped]: [UnreadExchange[], string[]] = [[], []];
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    watch: () => backlog.watch({ passed: (exchange) => kept.push(exchange), dropped: (why) => dropped.push(why) }),
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  const status = await head(`${proxy.url}/nothing`);
  await expect.poll(() => kept).toHaveLength(1);
  const [exchange] = kept;
  if (exchange === undefined) expect.unreachable('it was kept');
  const nobody = { passed: () => undefined, dropped: () => undefined };
  for (let count = 1; count < MOST_REQUESTS; count += 1) backlog.watch(nobody).passed(exchange);
  expect(await head(`${proxy.url}/nothing`)).toBe(status);
  await expect.poll(() => dropped).toEqual(['the queue is full']);
  expect(kept).toHaveLength(1);
  backlog.done(1);
  await head(`${proxy.url}/nothing`);
  await expect.poll(() => kept).toHaveLength(2);
});

test('a body counts with what its pieces take besides, however small they are', async () => {
  const { origin } = await scriptedServer((asked, response) => asked.resume().on('end', () => response.end()));
  let counted = 0;
  const keeps = (bytes: number) => {
    counted += bytes;
    return true;
  };
  const kept: UnreadExchange[] = [];
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    watch: () => ({ keeps, passed: (exchange) => kept.push(exchange), unkept: () => undefined }),
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  const { socket, received } = await openRaw({ port: Number(new URL(proxy.url).port), host: '127.0.0.1' });
  const head = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';
  socket.write(`${head}${'1\r\nx\r\n'.repeat(1_000)}0\r\n\r\n`);
  await received(/\r\n\r\n/);
  await expect.poll(() => kept.map(({ requestBody }) => requestBody.length)).toEqual([1_000]);
  expect(counted).toBeGreaterThan(100_000);
});

test('an upload that is let go of passes on, and is held by nobody', async () => {
  const got: Buffer[] = [];
  const { origin } = await scriptedServer((request, response) => {
    request.on('data', (piece: Buffer) => got.push(piece)).on('end', () => response.end('done'));
  });
  const letGo: (() => void)[] = [];
  const [kept, dropped]: [UnreadExchange[], number[]] = [[], []];
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    watch: ({ sequence }) => ({
      keeps: (_bytes, release) => letGo.push(release) > 0,
      passed: (exchange) => kept.push(exchange),
      unkept: () => dropped.push(sequence),
    }),
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  const asked = request(proxy.url, { method: 'POST', agent: false });
  const answered = new Promise<string>((resolve) =>
    asked.on('response', async (answer) => resolve(await bodyOf(answer))),
  );
  asked.write('one');
  await expect.poll(() => Buffer.concat(got).toString()).toBe('one');
  for (const release of letGo) release();
  asked.end('two');
  expect(await answered).toBe('done');
  expect(Buffer.concat(got).toString()).toBe('onetwo');
  await expect.poll(() => dropped).toEqual([1]);
  expect(kept).toEqual([]);
});

test('a large answer is put together bit by bit, while others are served', async () => {
  const body = Buffer.alloc(20 * 1024 * 1024, 'many bytes');
  const { origin } = await scriptedServer((_, response) => response.end(body));
  let [turns, turnsAtLast] = [0, 0];
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  turn();
  onTestFinished(() => {
    isOver = true;
  });
  const keeps = () => {
    turnsAtLast = turns;
    return true;
  };
  const kept: [UnreadExchange, number][] = [];
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    watch: () => ({
      keeps,
      passed: (exchange) => kept.push([exchange, turns - turnsAtLast]),
      unkept: () => expect.unreachable('all of it is kept'),
    }),
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  expect(Buffer.from(await (await fetch(proxy.url)).arrayBuffer()).equals(body)).toBe(true);
  await expect.poll(() => kept).toHaveLength(1);
  const [[exchange, taken]] = kept as [[UnreadExchange, number]]; // There is one.
  expect(exchange.responseBody.equals(body)).toBe(true);
  expect(exchange.responseBody.buffer.byteLength).toBe(body.length);
  expect(taken).toBeGreaterThan(100);
});
