import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DomainError } from '../../src/core/errors.js';
import type { GatewayOptions } from '../../src/index.js';
import { isJsonObject } from '../../src/wire/json/json.js';
import { folderForTest } from '../folder-for-test.js';
import { callerOf, type OwnReply, ownStage } from './stage.js';

interface Changes {
  readonly cursor: string;
  readonly keys: readonly { readonly access_key: string; readonly status?: string }[];
}

const dataOf = ({ body }: OwnReply) => (isJsonObject(body) ? body.data : undefined);

/** Makes a token with the static one, and gives a caller who shows it. */
async function stage(may: string, options: Partial<GatewayOptions> & { readonly expiresAt?: string } = {}) {
  const { expiresAt, ...others } = options;
  const { app, call } = await ownStage(others);
  const made = await call('POST /tokens', {
    body: { name: 'bot', may, ...(expiresAt === undefined ? {} : { expires_at: expiresAt }) },
  });
  const { token } = dataOf(made) as { readonly token: string };
  const headers = { authorization: `Bearer ${token}` };
  const own = callerOf(app);
  return { app, call, token, headers, asBot: (endpoint: string, body?: unknown) => own(endpoint, { body, headers }) };
}

describe('a named token', () => {
  it('has words for people, and a made name where none is given', async () => {
    const { call } = await ownStage();
    const made = await call('POST /tokens', { body: { may: 'all', label: 'Anna’s phone' } });
    const { name, token } = Object(made.body).data;
    expect([name, token]).toEqual([expect.stringMatching(/^token-[0-9a-f]{10}$/), expect.stringMatching(/^kw_/)]);
    await call('POST /tokens', { body: { name: null, may: 'all' } });
    const { body } = await call('GET /tokens', { headers: { authorization: `Bearer ${token}` } });
    const labels = Object(body).data.map(({ label }: { readonly label: string | null }) => label);
    expect(labels.toSorted()).toEqual(['Anna’s phone', null]);
  });

  it.each(['', 'two\nlines', 'x'.repeat(101), 7])('takes no label %j', async (label) => {
    const { call } = await ownStage();
    const refused = await call('POST /tokens', { body: { may: 'all', label } });
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^label: expected/) } });
    expect(Object((await call('GET /tokens')).body).data).toEqual([]);
  });

  it('that is removed while its holder waits for a change is told nothing of it', async () => {
    const { app, call, asBot } = await stage('relay');
    const { cursor } = dataOf(await asBot('GET /keys')) as { readonly cursor: string };
    const waiting = [asBot(`GET /keys?since=${cursor}&wait=60`), call(`GET /keys?since=${cursor}&wait=60`)];
    await call('DELETE /tokens/bot');
    await app.keyway.core.createUser({ accessKey: 'later', name: null, limitBytes: null });
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([401, 200]);
    expect(JSON.stringify((await waiting[0])?.body)).not.toContain('later');
  });

  it('holds at most ten of the batches that wait, however many come at once, and ends them with itself', async () => {
    const { call, asBot } = await stage('create');
    const batch = { items: [{ op: 'create', access_key: 'never' }] };
    const sent = await Promise.all(Array.from({ length: 30 }, () => asBot('POST /keys/batch?delay=60', batch)));
    expect(sent.filter(({ status }) => status === 202).length).toBe(10);
    expect(await asBot('POST /keys/batch?delay=60', batch)).toMatchObject({
      status: 429,
      body: { code: 'too_many_jobs', error: 'too many batches wait: try again: 10 of this token wait' },
    });
    expect((await call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create' }] } })).status).toBe(200);
    await call('DELETE /tokens/bot');
    await call('POST /tokens', { body: { name: 'bot', may: 'create' } });
    const ended = { state: 'stopped', reason: 'the token bot has ended' };
    await expect
      .poll(async () => dataOf(await call('GET /jobs')))
      .toMatchObject([{ state: 'done' }, ...Array(10).fill(ended)]);
  });

  it('ends at a time that is written as RFC 3339 says', async () => {
    const { call } = await ownStage();
    for (const time of ['2099', '1 Jan 2099', '2099-01-01', '2099-01-01T00:00:00'])
      expect(await call('POST /tokens', { body: { name: 'bot', may: 'relay', expires_at: time } })).toMatchObject({
        status: 400,
        body: { code: 'invalid_body' },
      });
  });

  it('of what it may not is told so with 403, in the words of the revision and of Keyway’s own interface', async () => {
    const { app, headers, asBot } = await stage('relay');
    const refused = await app.inject({ method: 'POST', url: '/panel/api/users', headers, payload: {} });
    expect([refused.statusCode, refused.json()]).toEqual([403, { ok: false, error: 'not permitted' }]);
    expect(await asBot('PATCH /keys/a', {})).toMatchObject({ status: 403, body: { code: 'not_permitted' } });
    expect(await asBot('GET /tokens')).toMatchObject({ status: 403 });
  });

  it('sees with "create" the keys alone that it made, in lists and one by one, and replaces no other', async () => {
    const { app, call, headers, asBot } = await stage('create');
    const api = (method: 'GET' | 'POST', path: string, payload?: object) =>
      app.inject({ method, url: `/panel/api${path}`, headers, ...(payload === undefined ? {} : { payload }) });
    await app.keyway.core.createUser({ accessKey: 'others', name: null, limitBytes: null });
    const first = (await api('POST', '/users', { access_key: 'own', name: 'Own' })).json().data;
    const second = (await api('POST', '/users', {})).json().data;
    const bulk = (await api('POST', '/users/bulk', { count: 2 })).json().data;
    const seen = (await api('GET', '/users')).json().data.map(({ access_key }: { access_key: string }) => access_key);
    expect(seen).toEqual([first, second, ...bulk]);
    expect((await api('GET', '/users/own')).json()).toMatchObject({ ok: true, data: { name: 'Own' } });
    const other = await api('GET', '/users/others');
    expect([other.statusCode, other.json().error]).toEqual([400, 'user not found']);
    const replaced = await api('POST', '/users', { access_key: 'others', name: 'Mine' });
    expect(replaced.statusCode).toBe(403);
    expect(await asBot('GET /keys')).toMatchObject({ body: { data: { keys: [{}, {}, {}, {}] } } });
    expect((await asBot('GET /keys/others')).status).toBe(404);
    expect((await asBot('GET /keys/own')).status).toBe(200);
    expect(await call('GET /keys')).toMatchObject({ body: { data: { keys: [{}, {}, {}, {}, {}] } } });
  });

  it('makes its own key again as it is, which changes nothing, and drops no limit and no counters by it', async () => {
    const { app, call, headers, asBot } = await stage('create');
    const made = { access_key: 'own', name: 'Own', limit_bytes: 5 };
    const post = async (payload: object) =>
      (await app.inject({ method: 'POST', url: '/panel/api/users', headers, payload })).statusCode;
    const batch = async (...items: object[]) => {
      const answer = await asBot('POST /keys/batch?wait=30', {
        items: items.map((item) => ({ op: 'create', ...item })),
      });
      const { items: told } = dataOf(answer) as unknown as {
        readonly items: readonly { readonly ok: boolean; readonly code?: string }[];
      };
      return told.map(({ ok, code }) => code ?? ok);
    };
    expect(await post(made)).toBe(200);
    const entry = { accessKey: 'own', bytesUp: 3n, bytesDown: 0n, connections: null };
    await app.keyway.backend.count({ id: null, entries: [entry] }, 'durable');
    const isKept = async (limit: bigint) =>
      expect(await call('GET /keys/own')).toMatchObject({
        body: { data: { name: 'Own', limit_bytes: limit, bytes_up: 3n } },
      });
    expect([await post(made), await batch(made, {})]).toEqual([200, [true, true]]);
    await isKept(5n);
    expect(await batch({ ...made, limit_bytes: null }, { ...made, name: 'Other' })).toEqual([
      'not_permitted',
      'not_permitted',
    ]);
    await call('PATCH /keys/own', { body: { limit_bytes: 4 } });
    expect([await post(made), await post({ access_key: 'own' }), await batch(made)]).toEqual([
      403,
      403,
      ['not_permitted'],
    ]);
    await isKept(4n);
  });

  it('that follows its keys is told of one that it makes, and of what that is rotated to', async () => {
    const configPath = join(await folderForTest(), 'server.json');
    await writeFile(configPath, '{ "mode": "server", "access_keys": [] }');
    const { app, call, headers, asBot } = await stage('create', { configPath });
    let { cursor } = dataOf(await asBot('GET /keys')) as { readonly cursor: string };
    const active = new Set<string>();
    const isTold = async (accessKey: string) => {
      const told = dataOf(await asBot(`GET /keys?wait=1&since=${cursor}`)) as unknown as Changes;
      cursor = told.cursor;
      for (const key of told.keys) if (key.status === 'active') active.add(key.access_key);
      return active.has(accessKey);
    };
    const made = expect.poll(() => isTold('own')).toBe(true);
    await app.inject({ method: 'POST', url: '/panel/api/users', headers, payload: { access_key: 'own' } });
    await made;
    const rotated = call('POST /keys/own/rotate', { body: {} });
    await isTold('own');
    const { access_key: successor } = dataOf(await rotated) as { readonly access_key: string };
    await expect.poll(() => isTold(successor)).toBe(true);
  });

  it('no longer sees a key that was removed and that somebody else made again', async () => {
    const { app, headers } = await stage('create');
    const inject = app.inject.bind(app);
    const everything = { authorization: 'Bearer T0ken' };
    await inject({ method: 'POST', url: '/panel/api/users', headers, payload: { access_key: 'a' } });
    await inject({ method: 'DELETE', url: '/panel/api/users/a', headers: everything });
    await inject({ method: 'POST', url: '/panel/api/users', headers: everything, payload: { access_key: 'a' } });
    expect((await inject({ url: '/panel/api/users', headers })).json().data).toEqual([]);
  });

  it('ends when it expires, and makes none that lives longer', async () => {
    const now = { time: Date.UTC(2026, 10, 23) };
    const clock = { now: () => now.time, monotonic: () => now.time };
    const { call, asBot } = await stage('all', { clock, expiresAt: '2026-12-01T00:00:00Z' });
    const longer = { status: 403, body: { code: 'not_permitted' } };
    expect(await asBot('POST /tokens', { name: 'x', may: 'status' })).toMatchObject(longer);
    const late = { name: 'x', may: 'status', expires_at: '2026-12-01T00:00:01Z' };
    expect(await asBot('POST /tokens', late)).toMatchObject(longer);
    const made = await asBot('POST /tokens', { ...late, expires_at: '2026-12-01T00:00:00Z' });
    expect(made.status).toBe(200);
    now.time = Date.UTC(2026, 11, 1);
    expect((await asBot('GET /tokens')).status).toBe(401);
    expect(dataOf(await call('GET /tokens'))).toMatchObject([
      { name: 'bot', made_by: 'static' },
      { name: 'x', made_by: 'bot', expires_at: '2026-12-01T00:00:00.000Z' },
    ]);
    // The name of one that is over is free.
    expect((await call('POST /tokens', { body: { name: 'bot', may: 'status' } })).status).toBe(200);
    expect(await call('POST /tokens', { body: { name: 'bot', may: 'status' } })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
  });

  it.each([
    [{ name: 'static', may: 'all' }, 'name: expected'],
    [{ name: 'session', may: 'all' }, 'name: expected'],
    [{ name: '', may: 'all' }, 'name: expected'],
    [{ name: 'a b', may: 'all' }, 'name: expected'],
    [{ name: 'a', may: 'more' }, 'may: expected one of status, relay, create, keys, all'],
    [{ name: 'a', may: 'all', expires_at: 'soon' }, 'expires_at: expected'],
    [{ name: 'a', may: 'all', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at: expected a time to come'],
    [{ name: 'a', may: 'all', secret: 'mine' }, 'secret: expected'],
  ])('is not made of %j', async (body, words) => {
    const { call } = await ownStage();
    const answer = await call('POST /tokens', { body });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_body', error: expect.stringContaining(words) },
    });
  });

  it('gets in where a mount without a credential refuses everyone else', async () => {
    const { app } = await ownStage({ listener: {}, refusesOpen: () => true });
    const control = app.keyway.control();
    onTestFinished(() => control.close());
    const payload = { name: 'bot', may: 'relay' };
    const made = await control.inject({ method: 'POST', url: '/panel/keyway/v1/tokens', payload });
    const shown = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const status = async (url: string, token: string) => (await app.inject({ url, ...shown(token) })).statusCode;
    const { token } = made.json().data;
    expect(await status('/panel/api/users', token)).toBe(200);
    expect(await status('/panel/api/server/status', token)).toBe(403);
    expect(await status('/panel/keyway/v1/keys', token)).toBe(200);
    for (const url of ['/panel/api/users', '/panel/keyway/v1/keys']) expect(await status(url, 'kw_other')).toBe(401);
  });

  it('that is none counts with the guard as any guess does, and one that is right gets in all the same', async () => {
    const { app, headers } = await stage('relay', { loginGuard: { failures: 5, window: 300_000 } });
    const ask = (authorization: string) => app.inject({ url: '/panel/api/users', headers: { authorization } });
    expect((await ask(headers.authorization)).statusCode).toBe(200);
    for (let n = 0; n < 20; n += 1) await ask(`Bearer kw_wrong-${n}`);
    const waiting = await ask('Bearer kw_another');
    expect([waiting.statusCode, waiting.headers['retry-after']]).toEqual([401, expect.any(String)]);
    expect((await ask(headers.authorization)).statusCode).toBe(200);
  });

  it('is told to its maker, and ends, also where the audit list takes nothing', async () => {
    const { app, call } = await ownStage();
    vi.spyOn(app.keyway.core.audit, 'add').mockRejectedValue(new DomainError('backendAway'));
    expect(await call('POST /tokens', { body: { name: 'bot', may: 'relay' } })).toMatchObject({
      status: 200,
      body: { data: { name: 'bot', token: expect.stringMatching(/^kw_/) } },
    });
    expect((await call('DELETE /tokens/bot')).status).toBe(200);
  });

  it('is named in the audit list when it is made and removed, and its secret never', async () => {
    const { app, call, token } = await stage('relay');
    await call('DELETE /tokens/bot');
    const audit = (await app.inject('/panel/api/audit')).body;
    expect(audit).toContain('Token bot (relay) made by static');
    expect(audit).toContain('Token bot removed by static');
    expect(audit).not.toContain(token.slice(3));
  });
});
