import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

const LISTENER = { token: 'T0ken', username: 'admin', passwordHash: PASSWORD_HASH };

async function staged(id: string) {
  const app = await gatewayForTest({ mounts: [{ revision: id, webpath: 'panel' }], listener: LISTENER });
  const [mount] = app.keyway.mounts;
  if (mount === undefined) throw new Error('no mount');
  const login = await app.inject({
    method: 'POST',
    url: `${mount.api}/login`,
    payload: { username: 'admin', password: 'password' },
  });
  const token = login.statusCode === 200 ? login.json().data.token : LISTENER.token;
  const list = (headers: Record<string, string> = {}) =>
    app.inject({ url: `${mount.api}/users`, headers: { authorization: `Bearer ${token}`, ...headers } });
  return { app, list, core: app.keyway.core };
}

describe('the entity tag of a list', () => {
  it.each(REVISIONS.map(({ id }) => id))('%s: is that of its bytes, and saves sending them again', async (id) => {
    const { list, core } = await staged(id);
    await core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    const first = await list();
    expect(first.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'accept-encoding' });
    expect(first.headers.etag).toMatch(/^W\/"[\w-]{22}"$/);
    const again = await list({ 'if-none-match': `"other", ${first.headers.etag}` });
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', first.headers.etag]);
    expect(again.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'accept-encoding' });
    const packed = await list({ 'accept-encoding': 'gzip' });
    expect([packed.headers['content-encoding'], packed.headers.etag]).toEqual(['gzip', first.headers.etag]);

    await core.createUser({ accessKey: 'b', name: null, limitBytes: null });
    const changed = await list({ 'if-none-match': String(first.headers.etag) });
    expect([changed.statusCode, changed.json().data.length]).toEqual([200, 2]);
    expect(changed.headers.etag).not.toBe(first.headers.etag);
    await core.deleteUser('b');
    const back = await list({ 'if-none-match': String(first.headers.etag), 'accept-encoding': 'br' });
    expect(back.statusCode).toBe(304);
  });

  it('is not told without a credential', async () => {
    const { app, list } = await staged('current');
    const { etag } = (await list()).headers;
    for (const tag of [String(etag), '*']) {
      const refused = await app.inject({ url: '/panel/api/users', headers: { 'if-none-match': tag } });
      expect([refused.statusCode, refused.headers.etag]).toEqual([401, undefined]);
    }
  });

  it('is right for long lists that change while it is worked out', async () => {
    const { list, core } = await staged('current');
    for (let n = 0; n < 12_000; n += 1) await core.createUser({ accessKey: `key-${n}`, name: null, limitBytes: null });
    const known = new Map<string, string>();
    for (let round = 0; round < 4; round += 1) {
      const lists = Promise.all([
        list(),
        list({ 'if-none-match': '"other"' }),
        list(),
        list({ 'accept-encoding': 'gzip' }),
      ]);
      await core.createUser({ accessKey: `more-${round}`, name: null, limitBytes: null });
      for (const { headers, body } of (await lists).slice(0, 3)) {
        expect(body.length).toBeGreaterThan(1 << 20);
        expect(known.get(String(headers.etag)) ?? body).toBe(body);
        known.set(String(headers.etag), body);
      }
      const bodies = new Set(known.values());
      expect(bodies.size).toBe(known.size);
    }
  });
});
