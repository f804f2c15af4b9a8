import { expect, it } from 'vitest';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

const OPERATOR = { username: 'admin', passwordHash: PASSWORD_HASH };

it.each([
  ['no credential', {}],
  ['an empty token', { token: '' }],
  ['a blank token', { token: ' \t' }],
  ['a name alone', { username: 'admin' }],
])('0.4.6 with %s lets nobody in, whatever is shown', async (_, listener) => {
  const app = await gatewayForTest({ mounts: [{ revision: '0.4.6' }], listener });
  for (const authorization of [undefined, '', ' ', ' \t', 'Bearer ', 'Bearer', 'Bearer  \t'])
    for (const url of ['/panel/api/server/status', '/panel/api/audit']) {
      const answer = await app.inject({ url, headers: authorization === undefined ? {} : { authorization } });
      expect([url, authorization, answer.statusCode]).toEqual([url, authorization, 401]);
    }
});

it.each([
  ['0.4.6', 300, 401, 'unauthorized'],
  ['0.4.7', 60, 429, 'too many sign-in attempts, wait a minute'],
  ['0.4.7', 300, 429, 'too many sign-in attempts, wait 5 minutes'],
])('a login of %s that the guard keeps waiting for %i s is told %i %s, and one of another network is not kept', async (revision, seconds, status, error) => {
  const loginGuard = { failures: 2, window: seconds * 1000 };
  const app = await gatewayForTest({
    mounts: [{ revision }],
    listener: OPERATOR,
    loginGuard,
    trustProxy: ['127.0.0.1'],
  });
  const login = (password: string, caller: string) =>
    app.inject({
      method: 'POST',
      url: '/panel/api/login',
      headers: { 'x-forwarded-for': caller },
      payload: { username: 'admin', password },
    });
  for (let failure = 1; failure <= 2; failure += 1)
    expect((await login('wrong', '192.0.2.1')).json()).toEqual({ ok: false, error: 'unauthorized' });
  const kept = await login('password', '192.0.2.1');
  expect([kept.statusCode, kept.json(), kept.headers['retry-after']]).toEqual([
    status,
    { ok: false, error },
    `${seconds}`,
  ]);
  expect((await login('password', '198.51.100.1')).statusCode).toBe(200);
});

it('0.4.7 grants no other origin anything, beside a mount that does', async () => {
  const app = await gatewayForTest({
    mounts: [
      { revision: '0.4.7', webpath: 'own' },
      { revision: '0.4.6', webpath: 'any' },
    ],
    listener: { token: 't' },
  });
  const headers = { origin: 'https://panel.example', authorization: 'Bearer t' };
  const preflight = { ...headers, 'access-control-request-method': 'GET' };
  for (const [base, granted] of [
    ['own', undefined],
    ['any', '*'],
  ] as const) {
    const of = async (method: 'GET' | 'OPTIONS' | 'POST', path: string) => {
      const answer = await app.inject({
        method,
        url: `/${base}${path}`,
        headers: method === 'OPTIONS' ? preflight : headers,
      });
      return [answer.statusCode, answer.headers['access-control-allow-origin']];
    };
    expect(await of('GET', '/api/users')).toEqual([200, granted]);
    expect(await of('GET', '/api/users/missing')).toEqual([400, granted]);
    expect(await of('GET', '/api/nothing')).toEqual([404, granted]);
    expect(await of('POST', '/api/server/status')).toEqual([405, granted]);
    expect(await of('GET', '/')).toEqual([200, granted]);
    expect(await of('OPTIONS', '/api/users')).toEqual([base === 'own' ? 405 : 200, granted]);
  }
});

it.each([
  ['0.4.6', '*'],
  ['0.4.7', undefined],
])('%s outside of every path that it serves allows other origins as elsewhere', async (revision, granted) => {
  const app = await gatewayForTest({ mounts: [{ revision }], listener: { token: 't' } });
  const headers = { origin: 'https://panel.example' };
  for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
    const answer = await app.inject({ method, url: '/elsewhere', headers });
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([404, granted]);
  }
});
