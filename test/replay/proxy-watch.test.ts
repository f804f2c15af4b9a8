import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { type ProxiedExchange, startProxy } from '../../src/replay/record/proxy.js';
import { Backlog } from '../../src/shadow/traffic.js';
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
  const [kept, dropped]: [ProxiedExchange[], string[]] = [[], []];
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    watch: () => backlog.watch((why) => dropped.push(why)),
    onExchange: (exchange) => kept.push(exchange),
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  const status = await head(`${proxy.url}/nothing`);
  await expect.poll(() => kept).toHaveLength(1);
  for (let count = 0; count < MOST_REQUESTS; count += 1) backlog.add();
  expect(await head(`${proxy.url}/nothing`)).toBe(status);
  await expect.poll(() => dropped).toEqual(['the queue is full']);
  expect(kept).toHaveLength(1);
  backlog.done({ requests: 1, bytes: 0 });
  await head(`${proxy.url}/nothing`);
  await expect.poll(() => kept).toHaveLength(2);
});
