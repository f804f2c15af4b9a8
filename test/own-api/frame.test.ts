import { describe, expect, it } from 'vitest';
import { OWN_OPERATIONS } from '../../src/own-api/operations.js';
import { gatewayForTest, PASSWORD_HASH } from '../northbound/gateway.js';
import { callerOf, ownStage, TOKEN } from './stage.js';

const LISTENER = { token: TOKEN, username: 'admin', passwordHash: PASSWORD_HASH };

describe("Keyway's own interface", () => {
  it('stands beside every mount, below its base', async () => {
    const app = await gatewayForTest({
      mounts: [
        { revision: 'earliest' },
        { revision: 'current', webpath: 'panel' },
        { revision: '0.2.84', webpath: 'a:b/c' },
      ],
      listener: LISTENER,
    });
    for (const root of ['/keyway/v1', '/panel/keyway/v1', '/a:b/c/keyway/v1']) {
      expect(await callerOf(app, root)('GET /keys'), root).toMatchObject({ status: 200, body: { ok: true } });
    }
    expect((await callerOf(app, '/other/keyway/v1')('GET /keys')).status).toBe(404);
  });

  it('gives way to a mount whose own paths stand where it would', async () => {
    const app = await gatewayForTest({
      mounts: [{ revision: 'earliest' }, { revision: 'current', webpath: 'keyway/v1' }],
      listener: LISTENER,
    });
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await app.inject({ url: '/keyway/v1/api/users', headers })).json()).toEqual({ ok: true, data: [] });
    expect((await app.inject({ url: '/keyway/v1/keys', headers })).headers['content-type']).toContain('text/html');
    expect((await callerOf(app, '/keyway/v1/keyway/v1')('GET /keys')).status).toBe(200);
  });

  it('is not there with ownApi off', async () => {
    const { app } = await ownStage({ ownApi: false });
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await app.inject({ url: '/panel/keyway/v1/keys', headers })).headers['content-type']).toContain(
      'text/html',
    );
    expect((await app.inject({ method: 'PATCH', url: '/panel/keyway/v1/keys/a', headers })).statusCode).toBe(405);
  });

  it('is never open: without a credential of the mount, a cookie or a query gets nobody in', async () => {
    const open = await gatewayForTest({ mounts: [{ revision: 'current', webpath: 'panel' }] });
    expect((await open.inject('/panel/api/users')).statusCode).toBe(200);
    for (const headers of [
      {},
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${TOKEN}` },
      { cookie: `token=${TOKEN}` },
    ]) {
      const answer = await open.inject({ url: `/panel/keyway/v1/keys?token=${TOKEN}`, headers });
      expect([answer.statusCode, answer.json()], JSON.stringify(headers)).toEqual([
        401,
        { ok: false, error: 'unauthorized', code: 'unauthorized' },
      ]);
    }
  });

  it('takes the static token and the session of its own mount', async () => {
    const app = await gatewayForTest({
      mounts: [
        { revision: 'current', webpath: 'panel' },
        { revision: 'dns', webpath: 'dns' },
      ],
      listener: LISTENER,
    });
    const payload = { username: 'admin', password: 'password' };
    const login = await app.inject({ method: 'POST', url: '/dns/api/login', payload });
    const session = { authorization: `Bearer ${login.json().data.token}` };
    expect((await callerOf(app, '/dns/keyway/v1')('GET /keys', { headers: session })).status).toBe(200);
    expect((await callerOf(app, '/panel/keyway/v1')('GET /keys', { headers: session })).status).toBe(401);
    // The revision takes no static token, and neither does what stands beside it.
    expect((await callerOf(app, '/dns/keyway/v1')('GET /keys')).status).toBe(401);
  });

  it.each(
    OWN_OPERATIONS.map(({ name, method, path }) => [name, method, path] as const),
  )('%s is refused without a credential and with a wrong one, before its body is read', async (_name, method, path) => {
    const { call } = await ownStage();
    for (const authorization of ['', 'Bearer wrong']) {
      const answer = await call(`${method} ${path.replaceAll(/\{\w+\}/g, 'x')}`, {
        headers: { authorization, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body: 'x'.repeat(100) }),
      });
      expect([answer.status, answer.body]).toEqual([401, { ok: false, error: 'unauthorized', code: 'unauthorized' }]);
    }
  });

  it('grants no other origin anything, in answers and preflights', async () => {
    const { app, call } = await ownStage();
    const origin = 'https://elsewhere.example';
    const asked = { origin, 'access-control-request-method': 'PATCH' };
    const preflight = await app.inject({ method: 'OPTIONS', url: '/panel/keyway/v1/keys/a', headers: asked });
    expect([preflight.statusCode, preflight.headers.allow]).toEqual([204, 'GET, HEAD, PATCH']);
    const answers = [
      preflight,
      await call('GET /keys', { headers: { origin } }),
      await call('GET /nothing', { headers: { origin } }),
    ];
    for (const { headers } of answers)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('answers what it does not serve itself: 404, and 405 with Allow', async () => {
    const { call } = await ownStage();
    expect(await call('GET /nothing')).toMatchObject({ status: 404, body: { ok: false, code: 'not_found' } });
    expect(await call('GET /keys/')).toMatchObject({ status: 404, body: { ok: false, code: 'not_found' } });
    expect(await call('POST /keys/a', { body: {} })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, PATCH' },
      body: { ok: false, code: 'method_not_allowed' },
    });
  });

  it('refuses a path that is no UTF-8 in its own words, and grants no other origin anything', async () => {
    const { app, call } = await ownStage();
    const refused = await call('GET /keys/%FF', { headers: { origin: 'https://panel.example' } });
    expect(refused).toMatchObject({ status: 400, body: { ok: false, code: 'invalid_path' } });
    expect(Object.keys(refused.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    const ofRevision = await app.inject('/panel/api/users/%FF');
    expect([ofRevision.statusCode, 'code' in ofRevision.json()]).toEqual([400, false]);
  });

  it('slows the guessing of tokens like every mount', async () => {
    const { call } = await ownStage({ loginGuard: { failures: 5, window: 300_000 } });
    for (let guess = 0; guess < 20; guess += 1)
      await call('GET /keys', { headers: { authorization: `Bearer ${guess}` } });
    const answer = await call('GET /keys', { headers: { authorization: 'Bearer another' } });
    expect([answer.status, Number(answer.headers['retry-after']) > 0]).toEqual([401, true]);
  });
});

describe('calls of keys', () => {
  it('refuse unknown members by name, wrong types, and what is no JSON', async () => {
    const { app, call } = await ownStage();
    await app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const refused = async (body: unknown, headers = {}) => (await call('PATCH /keys/a', { body, headers })).body;
    expect(await refused({ policy: {} })).toEqual({
      ok: false,
      error: 'policy: expected no member of this name',
      code: 'invalid_body',
    });
    expect(await refused({ limit_bytes: -1 })).toMatchObject({ code: 'invalid_body' });
    expect(await refused('[]')).toMatchObject({ code: 'invalid_body' });
    expect(await refused('{}', { 'content-type': 'text/plain' })).toMatchObject({ code: 'not_json' });
    expect(await refused('{}', { 'content-type': 'application/json-patch+json' })).toMatchObject({ code: 'not_json' });
    expect(await call('GET /keys/a?token=1')).toMatchObject({
      status: 400,
      body: { error: 'token: expected no member of this name', code: 'invalid_query' },
    });
  });

  it('list keys in the order of their texts, page by page, whatever comes and goes meanwhile', async () => {
    const { app, call } = await ownStage();
    const { core } = app.keyway;
    const names = Array.from({ length: 50 }, (_, index) => `k${String((index * 37) % 50).padStart(2, '0')}`);
    for (const accessKey of names) await core.createUser({ accessKey });
    const seen: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { body } = await call(`GET /keys?limit=7&after=${after}`);
      const { keys } = (body as unknown as { data: { keys: { access_key: string }[] } }).data;
      seen.push(...keys.map(({ access_key }) => access_key));
      after = keys.at(-1)?.access_key;
      if (after === 'k06') await core.deleteUser('k06');
    }
    expect(seen).toEqual([...names].sort());
    expect((await call('GET /keys?limit=0')).body).toMatchObject({ code: 'invalid_query' });
  });
});
