import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import type { GatewayOptions } from '../../src/index.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { startFeed } from '../../src/serve/feed.js';
import { gatewayForTest, listen, PASSWORD_HASH } from './gateway.js';

const LISTENER = { token: 'right', username: 'admin', passwordHash: PASSWORD_HASH };
const GUARD = { failures: 5, window: 300_000 };
const UNAUTHORIZED = { ok: false, error: 'unauthorized' };

async function stage(options: Partial<GatewayOptions> = {}) {
  const time = { now: 0 };
  const clock = { now: () => time.now, monotonic: () => time.now };
  const app = await gatewayForTest({
    mounts: [{ revision: 'current' }, { revision: 'earliest' }],
    listener: LISTENER,
    loginGuard: GUARD,
    clock,
    ...options,
  });
  return { app, time };
}

interface Asked {
  readonly path?: string;
  readonly from?: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
}

async function ask(app: FastifyInstance, token: string | null, { path, from, method }: Asked = {}) {
  const answer = await app.inject({
    method: method ?? 'GET',
    url: path ?? '/panel/api/server/status',
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    ...(from === undefined ? {} : { remoteAddress: from }),
  });
  return { status: answer.statusCode, retry: answer.headers['retry-after'], body: answer.json() };
}

async function guess(app: FastifyInstance, count: number, asked: Asked = {}) {
  for (let n = 0; n < count; n += 1) expect((await ask(app, `wrong-${n}`, asked)).retry).toBeUndefined();
}

it('after 20 different wrong tokens from one address in a minute even the right one is 401 with Retry-After, and 200 after it', async () => {
  const { app, time } = await stage();
  await guess(app, 20);
  expect(await ask(app, 'right')).toEqual({ status: 401, retry: '60', body: UNAUTHORIZED });
  expect((await ask(app, 'right', { from: '192.0.2.9' })).status).toBe(200);
  expect((await ask(app, null)).retry).toBeUndefined();
  time.now += 60_000;
  expect((await ask(app, 'right')).status).toBe(200);
});

it('an operator who logs in from there gets in by the new session', async () => {
  const { app } = await stage();
  await guess(app, 20);
  const payload = { username: 'admin', password: 'password' };
  const login = await app.inject({ method: 'POST', url: '/panel/api/login', payload });
  expect((await ask(app, login.json().data.token)).status).toBe(200);
});

it('every mount and method counts, and the audit list with --protect-audit, but not the list that is open', async () => {
  const { app } = await stage({ protectAudit: true });
  await guess(app, 7, { path: '/panel/api/audit' });
  for (let n = 7; n < 14; n += 1) await ask(app, `wrong-${n}`, { path: '/api/users' });
  for (let n = 14; n < 20; n += 1) await ask(app, `wrong-${n}`, { path: '/panel/api/users/x', method: 'DELETE' });
  expect(await ask(app, 'right', { path: '/panel/api/audit', method: 'DELETE' })).toMatchObject({ retry: '60' });
  const open = await stage();
  for (let n = 0; n < 30; n += 1)
    expect((await ask(open.app, `wrong-${n}`, { path: '/panel/api/audit' })).status).toBe(200);
  expect((await ask(open.app, 'right')).status).toBe(200);
});

it('IPv6 counts by /64, however it is spelled, for tokens and for logins', async () => {
  const { app } = await stage({ trustProxy: ['127.0.0.1'] });
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const status = (address: string, token: string) =>
    app.inject({
      url: '/panel/api/server/status',
      headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address },
    });
  for (let n = 0; n < 20; n += 1) await status(`2001:DB8:0:1:${n.toString(16)}::1`, `wrong-${n}`);
  expect((await status('2001:0db8:0000:0001:ffff::', 'right')).headers['retry-after']).toBe('60');
  expect((await status('2001:db8:0:2::1', 'right')).statusCode).toBe(200);
  const login = (address: string, password: string) =>
    app.inject({ method: 'POST', url: '/panel/api/login', ...from(address), payload: { username: 'admin', password } });
  for (let n = 0; n < 5; n += 1) await login(`2001:db8:0:3::${n}`, 'no');
  expect((await login('2001:db8::3:0:0:0:9', 'password')).statusCode).toBe(401);
  expect((await login('2001:db8:0:4::1', 'password')).statusCode).toBe(200);
});

it('--login-guard off has nobody wait for tokens either', async () => {
  const { app } = await stage({ loginGuard: 'off' });
  await guess(app, 40);
  expect((await ask(app, 'right')).status).toBe(200);
});

it("the feed's token is guarded with the API's", async () => {
  const { app } = await stage();
  const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };
  const { url } = await startFeed(
    app.keyway,
    { feedBind: '127.0.0.1:0', feedToken: 'feed' },
    { clock: systemClock, random: systemRandom, log: silent },
  );
  const feed = (token: string) => fetch(`${url}/v1/keys`, { headers: { authorization: `Bearer ${token}` } });
  const answered: number[] = [];
  for (let n = 0; n < 10; n += 1) answered.push((await feed(`guess-${n}`)).status);
  const port = await listen(app);
  for (let n = 0; n < 10; n += 1) {
    const headers = { authorization: `Bearer wrong-${n}` };
    answered.push((await fetch(`http://127.0.0.1:${port}/panel/api/users`, { headers })).status);
  }
  expect(answered).toEqual(Array(20).fill(401));
  const refused = await feed('feed');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([401, '60']);
  expect(await refused.json()).toEqual({ error: expect.stringContaining('unauthorized') });
});

it('a token that is used goes on being known while somebody guesses from its address, however many sessions begin there', async () => {
  const { app } = await stage();
  expect((await ask(app, 'right')).status).toBe(200);
  await guess(app, 20);
  for (let n = 0; n < 40; n += 1) {
    const payload = { username: 'admin', password: 'password' };
    const { statusCode } = await app.inject({ method: 'POST', url: '/panel/api/login', payload });
    expect(statusCode).toBe(200);
    expect((await ask(app, 'right')).status).toBe(200);
  }
});
