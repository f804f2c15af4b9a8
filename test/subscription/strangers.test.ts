import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { gatewayForTest } from '../northbound/gateway.js';
import { exchange } from '../northbound/raw-exchange.js';
import { openRaw } from '../raw-client.js';
import { DECOY, requestOf, servedFile, TOKEN_A, WORKED } from './stage.js';

it('answers whatever is sent to it with a subscription, the decoy or a refusal of the HTTP, and goes on', async () => {
  const { port, ask } = await servedFile();
  const text = (from: readonly string[]) => fc.oneof(fc.constantFrom(...from), fc.string({ maxLength: 40 }));
  const method = text(['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'QUERY', 'TRACE', 'CONNECT', 'PRI', 'get']);
  const target = text([
    `/sub/${TOKEN_A}`,
    `/sub/${TOKEN_A.toUpperCase()}?format=json&format=json`,
    `/sub/${'0'.repeat(32)}`,
    '/sub',
    '/sub/',
    '/sub/../sub/',
    '/sub/%2e%2e',
    '/sub/%ff%fe',
    '/%',
    '*',
    `http://x/sub/${TOKEN_A}`,
    `//sub/${TOKEN_A}`,
    `/sub/${'a'.repeat(20_000)}`,
  ]);
  const header = text([
    'Host: x',
    'Host: y',
    'Accept: text/html',
    'Accept: APPLICATION/JSON',
    'Accept-Language: ru;q=1e9,en;q=-1,;q=,,,',
    `Accept-Language: ${',;q='.repeat(2_000)}`,
    'Connection: keep-alive',
    'Content-Length: 3',
    'Content-Length: -1',
    'Transfer-Encoding: chunked',
    'Expect: 100-continue',
    'Expect: nothing',
    'Range: bytes=0-1',
    'If-None-Match: *',
  ]);
  const request = fc
    .tuple(method, target, fc.array(header, { maxLength: 6 }), text(['', 'abc', '3\r\nabc\r\n0\r\n\r\n']))
    .map(
      ([verb, path, lines, body]) => `${[`${verb} ${path} HTTP/1.1`, 'Host: x', ...lines, ''].join('\r\n')}\r\n${body}`,
    );
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async (requests) => {
      const answer = await exchange(port, requests.join(''));
      const [status = '', ...others] = [...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, code = '']) => code);
      // A request that is no HTTP to its end may be told so behind the answer to the one before; nothing was if it had no end at all.
      expect(['', '200', '404', '400', '408', '417', '431', '100']).toContain(status);
      expect(others.filter((code) => !['200', '404', '400', '417'].includes(code))).toEqual([]);
      if (status === '404' && !answer.includes('{"ok":false')) expect(answer.startsWith(DECOY.slice(0, 40))).toBe(true);
      expect(answer).not.toContain('500 Internal');
    }),
    { numRuns: 150 },
  );
  expect(await ask(`/sub/${TOKEN_A}`)).toContain('200 OK');
  expect(await ask('/sub/x')).toBe(DECOY);
});

it('tells the log neither a token nor the path before it, and a key by its digest alone', async () => {
  const lines: string[] = [];
  const note = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push(JSON.stringify({ ...fields, message }));
  const log: LogPort = { debug: note, info: note, warn: note, error: note };
  const subscription = { path: '/hidden-path' };
  const { ask } = await servedFile({ ...WORKED, subscription }, { log, requestLog: 'all' });
  await ask(`/hidden-path/${TOKEN_A}`);
  await ask(`/hidden-path/${TOKEN_A}/x`);
  await ask(`/hidden-path/%ff${TOKEN_A}`);
  await expect.poll(() => lines.filter((line) => line.includes('"message":"request"')).length).toBe(3);
  const [known, ...others] = lines
    .filter((line) => line.includes('"message":"request"'))
    .map((line) => JSON.parse(line));
  expect(known).toMatchObject({ path: '(subscription)', status: 200, key: expect.stringMatching(/^[\da-f]{8}$/) });
  for (const other of others) expect(other).toMatchObject({ path: '(unmatched)', status: 404 });
  expect(lines.join('\n')).not.toMatch(new RegExp(`hidden-path|${TOKEN_A}|key-a|alice`));
});

it.each([
  'GET',
  'HEAD',
] as const)('draws few pages for one network, whether they are sent or not, and refuses it beyond that: %s', async (method) => {
  let now = 0;
  const clock = { now: () => 0, monotonic: () => now };
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], subscriptionTokens: true, clock });
  await app.keyway.core.createUser({ accessKey: 'key-a' });
  const ask = (remoteAddress: string) =>
    app.inject({ method, url: `/sub/${TOKEN_A}`, headers: { accept: 'text/html' }, remoteAddress });
  for (let pages = 0; ; pages += 1) {
    const answer = await ask('203.0.113.5');
    if (answer.statusCode === 429) break;
    expect(answer.statusCode).toBe(200);
    // 2 MiB of 64 KiB each.
    expect(pages).toBeLessThan(32);
  }
  expect((await ask('203.0.113.6')).statusCode).toBe(200);
  now += 10_000;
  expect((await ask('203.0.113.5')).statusCode).toBe(200);
});

it('answers nobody under a name that --allow-host does not have', async () => {
  const { ask, port } = await servedFile(WORKED, { allowHosts: ['vpn.example.com'] });
  expect(await ask(`/sub/${TOKEN_A}`)).toContain('200 OK');
  const client = await openRaw({ host: '127.0.0.1', port });
  client.socket.write(requestOf(`/sub/${TOKEN_A}`).replace('vpn.example.com', 'evil.example.com'));
  expect(await client.received(/misdirected/)).toContain('421');
});
