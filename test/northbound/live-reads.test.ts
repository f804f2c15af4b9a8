import { describe, expect, it } from 'vitest';
import { createMemoryBackend } from '../ports/memory-backend.js';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

const KEY = { accessKey: 'a', name: 'n', limitBytes: 5n };

async function stage(hasLiveReads: boolean) {
  const backend = createMemoryBackend({ hasLiveReads });
  backend.outside({ put: KEY });
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }, { revision: 'dns', webpath: 'dns' }], backend });
  const ask = async (url: string, accept = '*/*') => {
    const answer = await app.inject({ url, headers: { accept } });
    return [answer.statusCode, answer.json()];
  };
  return { backend, ask };
}

const READS = [
  ['/panel/api/users/a', { access_key: 'a', name: 'n', limit_bytes: 5, bytes_up: 0 }],
  ['/panel/api/server/status', { active_users: 0, total_users: 1 }],
  ['/panel/api/router/rules', []],
  ['/dns/api/dns/config', { enabled: false, adblock_urls: [] }],
  ['/dns/api/dns/queries', []],
  ['/panel/api/subscribe/a', { mode: 'client', access_key: 'a' }],
] as const;

describe.each([false, true])('a gateway over a state elsewhere, with live reads: %s', (hasLiveReads) => {
  it.each(READS)('GET %s answers from it', async (url, data) => {
    const { ask } = await stage(hasLiveReads);
    expect(await ask(url)).toMatchObject([200, { ok: true, data }]);
  });

  it('shows the next request what somebody else has changed', async () => {
    const { backend, ask } = await stage(hasLiveReads);
    backend.outside({ put: { ...KEY, name: 'other' } });
    expect(await ask('/panel/api/users/a')).toMatchObject([200, { data: { name: 'other' } }]);
    backend.outside({ remove: 'a' });
    expect(await ask('/panel/api/users/a')).toEqual([400, { ok: false, error: 'user not found' }]);
    expect(await ask('/panel/api/subscribe/a', 'text/plain')).toEqual([
      404,
      { ok: false, error: 'invalid access key' },
    ]);
  });

  it.each(READS.map(([url]) => url))('while it is away, GET %s says so where it is asked of it', async (url) => {
    const { backend, ask } = await stage(hasLiveReads);
    backend.becomes('away');
    const away = [503, { ok: false, error: 'the state cannot be reached: it is away for a test' }];
    const answer = await ask(url);
    if (hasLiveReads) expect(answer).toEqual(away);
    else expect(answer).toMatchObject([200, { ok: true }]);
  });
});

describe.each([true, false])('two gateways over one state that shares sessions and audit list: %s', (isShared) => {
  it('let in who logged in at either, and show what was noted at either, where it does', async () => {
    const backend = createMemoryBackend({ hasLiveReads: false, isShared });
    const listener = { username: 'admin', passwordHash: PASSWORD_HASH };
    const open = () => gatewayForTest({ mounts: [{ revision: 'current' }], backend, listener });
    const [one, other] = [await open(), await open()];
    const payload = { username: 'admin', password: 'password' };
    const { token } = (await one.inject({ method: 'POST', url: '/panel/api/login', payload })).json().data;
    const headers = { authorization: `Bearer ${token}` };
    const event = { eventEn: 'e', eventRu: 'r', success: true };
    await one.inject({ method: 'POST', url: '/panel/api/audit', payload: event });
    expect((await one.inject({ url: '/panel/api/server/status', headers })).statusCode).toBe(200);
    expect((await other.inject({ url: '/panel/api/server/status', headers })).statusCode).toBe(isShared ? 200 : 401);
    expect((await other.inject({ url: '/panel/api/audit' })).json().data).toHaveLength(isShared ? 1 : 0);
  });
});

it('a gateway whose sessions and audit list are held elsewhere answers 503 where it must ask and nobody is there', async () => {
  const backend = createMemoryBackend({ hasLiveReads: false, isShared: true });
  const listener = { username: 'admin', passwordHash: PASSWORD_HASH };
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], backend, listener });
  const payload = { username: 'admin', password: 'password' };
  const login = () => app.inject({ method: 'POST', url: '/panel/api/login', payload });
  const status = async (token: string) =>
    (await app.inject({ url: '/panel/api/server/status', headers: { authorization: `Bearer ${token}` } })).statusCode;
  const { token } = (await login()).json().data;
  expect([await status(token), await status('unknown')]).toEqual([200, 401]);
  backend.becomes('away');
  const away = { ok: false, error: 'the state cannot be reached: it is away for a test' };
  const write = { method: 'DELETE' as const, url: '/panel/api/users/a', headers: { authorization: 'Bearer unknown' } };
  const event = { eventEn: 'e', eventRu: 'r', success: true };
  const asked = [
    await login(),
    await app.inject(write),
    await app.inject({ url: '/panel/api/audit' }),
    await app.inject({ method: 'POST', url: '/panel/api/audit', payload: event }),
    await app.inject({ method: 'DELETE', url: '/panel/api/audit' }),
  ];
  expect(asked.map((answer) => [answer.statusCode, answer.json()])).toEqual(asked.map(() => [503, away]));
  expect([await status(token), await status('unknown')]).toEqual([200, 503]);
  backend.becomes('there');
  expect([await status(token), (await app.inject({ url: '/panel/api/audit' })).json().data]).toEqual([200, []]);
});
