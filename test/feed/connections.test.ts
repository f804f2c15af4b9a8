import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openRaw, rawRequest } from '../raw-client.js';
import { FEED_TOKEN, feedStage, report, until } from './stage.js';

const HEADERS = { authorization: `Bearer ${FEED_TOKEN}`, 'content-type': 'application/json' };
const MEBIBYTE = 1024 * 1024;

async function connectTo(url: string) {
  const { hostname, port } = new URL(url);
  return openRaw({ host: hostname, port: Number(port) });
}

describe('a client of the feed that is still sending a body beyond the limit', () => {
  it.each([
    ['of a length that it says', { 'content-length': `${6 * MEBIBYTE}` }, ''],
    ['in chunks', { 'transfer-encoding': 'chunked' }, `${MEBIBYTE.toString(16)}\r\n`],
  ])('%s sees the 413, and gets to its end', async (_what, headers, before) => {
    for (const connection of ['keep-alive', 'close']) {
      const { url } = await feedStage({ keys: ['a'] });
      const client = await connectTo(url);
      const errors: Error[] = [];
      client.socket.on('error', (error) => errors.push(error));
      client.socket.write(rawRequest('POST', '/v1/usage', { ...HEADERS, ...headers, connection }));
      const part = Buffer.concat([
        Buffer.from(before),
        Buffer.alloc(MEBIBYTE, 0x20),
        Buffer.from(before === '' ? '' : '\r\n'),
      ]);
      for (let n = 0; n < 5; n += 1) await new Promise((resolve) => client.socket.write(part, resolve));
      const answer = await client.received(/\}$/);
      expect(answer).toMatch(/^HTTP\/1\.1 413 .*"request body too large: at most 4194304 bytes are accepted"/s);
      await new Promise((resolve) => client.socket.write(part, resolve));
      if (before !== '') client.socket.write('0\r\n\r\n');
      // A further request on a connection that is kept, and the end of one that is not.
      if (connection === 'keep-alive') {
        client.socket.write(rawRequest('GET', '/v1/keys', HEADERS));
        await client.received(/HTTP\/1\.1 200 .*"removed":\[\]\}/s);
      } else await client.ended;
      expect(errors).toEqual([]);
      client.socket.destroy();
    }
  });
});

it('a body whose sender makes a chunk of each byte is held in few pieces', async () => {
  const { url } = await feedStage({ keys: ['a'] });
  const body = JSON.stringify(report(null, ['a', 1, 1])).padEnd(20_000);
  const client = await connectTo(url);
  const concat = vi.spyOn(Buffer, 'concat');
  onTestFinished(() => concat.mockRestore());
  client.socket.write(rawRequest('POST', '/v1/usage', { ...HEADERS, 'transfer-encoding': 'chunked' }));
  client.socket.write(`${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`);
  expect(await client.received(/"unknown_keys":\[\]\}$/)).toMatch(/^HTTP\/1\.1 200 /);
  const pieces = concat.mock.calls.flatMap(([parts, length]) => (length === body.length ? [parts.length] : []));
  expect(pieces).toEqual([expect.any(Number)]);
  expect(pieces[0]).toBeLessThan(20);
});

describe('a client of the feed that ends its side', () => {
  it('is answered at once where it waits for a change: whether it still listens, it cannot say any more', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const { body } = await stage.get('/v1/keys');
    const { version } = body as { version: string };
    const client = await connectTo(stage.url);
    client.socket.end(rawRequest('GET', `/v1/keys?wait=300&since=${version}`, HEADERS));
    expect(await client.ended).toMatch(/^HTTP\/1\.1 200 .*"keys":\[\]/s);
    await until(() => client.isEnded());
  });
});

it('a connection of the feed is kept for more than a minute between two reports', async () => {
  const { url } = await feedStage({ keys: ['a'] });
  const client = await connectTo(url);
  client.socket.write(rawRequest('GET', '/v1/keys', HEADERS));
  expect(await client.received(/"removed":\[\]\}/)).toMatch(/^keep-alive: timeout=72\r$/im);
  client.socket.destroy();
});
