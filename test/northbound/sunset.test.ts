import { expect, it } from 'vitest';
import { runHere } from '../commands/context.js';
import { gatewayForTest } from './gateway.js';

const SUNSET = Date.UTC(2027, 2, 1);
const now = Date.UTC(2026, 10, 23, 13, 14, 15);
const clock = { now: () => now, monotonic: () => now };

it('a mount that goes says so in each of its answers, and no other mount does', async () => {
  const app = await gatewayForTest({
    mounts: [
      { revision: '0.2.48', webpath: 'old', sunset: SUNSET },
      { revision: 'current', webpath: 'new' },
    ],
    listener: { token: 'T0ken', username: 'admin', passwordHash: 'x' },
    clock,
  });
  const ask = (url: string, method: 'GET' | 'POST' = 'GET') =>
    app.inject({ method, url, headers: { authorization: 'Bearer T0ken' } });
  const leaving = { deprecation: `@${Date.UTC(2026, 10, 23) / 1000}`, sunset: 'Mon, 01 Mar 2027 00:00:00 GMT' };
  for (const answer of [await ask('/old/api/users'), await ask('/old/api/login', 'POST')])
    expect(answer.headers).toMatchObject(leaving);
  expect((await ask('/old/api/subscribe/none')).headers).toMatchObject(leaving);
  const other = (await ask('/new/api/users')).headers;
  expect([other.deprecation, other.sunset, other['content-type']]).toEqual([undefined, undefined, 'application/json']);
});

it('one that should have gone before was not to be built upon then either', async () => {
  const app = await gatewayForTest({ mounts: [{ revision: 'dns', sunset: Date.UTC(2026, 0, 1) }], clock });
  const { headers } = await app.inject('/panel/api/users');
  expect([headers.deprecation, headers.sunset]).toEqual(['@1767225600', 'Thu, 01 Jan 2026 00:00:00 GMT']);
});

it.each([
  ['0.2.48', 'expected a revision and the day on which it goes'],
  ['0.2.48@2027-02-30', 'expected a revision and the day on which it goes'],
  ['0.2.20@2027-03-01', 'expected one of the served revisions (dns) before the day, got "0.2.20"'],
])('--sunset %s is refused', async (text, words) => {
  const argv = ['serve', '--no-config', '--revision', 'dns', '--sunset', text];
  expect(await runHere(argv)).toMatchObject({ code: 2, complaints: expect.stringContaining(words) });
});
