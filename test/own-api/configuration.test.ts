import { describe, expect, it } from 'vitest';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { ownStage } from './stage.js';

const PATH = '/etc/server.json';
const FILE = `{
  "mode": "server", // as ever
  "access_keys": ["first"],
  "api": { "enabled": true, "token": "s3cret" },
  "large": 18446744073709551615,
  "dns": { "enabled": false }
}
`;
const MERGE = { 'content-type': 'application/merge-patch+json' };
const PATCH = { 'content-type': 'application/json-patch+json' };

async function stage() {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(PATH, Buffer.from(FILE), 0o600);
  const { app, call } = await ownStage({ configPath: PATH, fileSystem });
  return { app, call, text: async () => (await fileSystem.read(PATH, 1 << 20)).toString() };
}

describe('the configuration in an interface of Keyway', () => {
  it('is answered whole, with a tag that keys, comments and spelling do not change', async () => {
    const { app, call } = await stage();
    const { status, headers, body } = await call('GET /configuration');
    expect(status).toBe(200);
    expect(encodeJson(body as never)).toContain('"large":18446744073709551615');
    expect(headers.etag).toMatch(/^"[0-9a-f]{32}"$/);
    await app.keyway.core.createUser({ accessKey: 'a', name: 'Anna', limitBytes: null });
    const again = await call('GET /configuration');
    expect(encodeJson(again.body as never)).toContain('Anna');
    expect(again.headers.etag).toBe(headers.etag);
  });

  it('is not changed where somebody else was first, who is told by the places', async () => {
    const { call, text } = await stage();
    const { etag } = (await call('GET /configuration')).headers;
    const others = [
      { op: 'replace', path: '/dns/enabled', value: true },
      { op: 'replace', path: '/api/token', value: 's3cret' },
      { op: 'add', path: '/a~1b', value: [1] },
    ];
    expect((await call('PATCH /configuration', { body: others, headers: PATCH })).status).toBe(200);
    const before = await text();
    const headers = { ...MERGE, 'if-match': String(etag) };
    const refused = await call('PATCH /configuration', { body: { dns: { enabled: null } }, headers });
    expect(refused).toMatchObject({
      status: 412,
      body: { ok: false, code: 'precondition_failed', differs: ['/a~1b/0', '/dns/enabled'] },
    });
    expect(JSON.stringify(refused.body)).not.toContain('s3cret');
    for (const unknown of ['"gone"', `W/${etag}`])
      expect(
        await call('PATCH /configuration', { body: {}, headers: { ...MERGE, 'if-match': unknown } }),
      ).toMatchObject({ status: 412, body: { differs: null } });
    expect(await text()).toBe(before);
    expect((await call('PATCH /configuration', { body: {}, headers: { ...MERGE, 'if-match': '*' } })).status).toBe(200);
  });

  it.each([
    ['a test that fails', PATCH, [{ op: 'test', path: '/large', value: 5 }], 409, 'conflict'],
    ['a list of keys', MERGE, { access_keys: [] }, 422, 'use_keys'],
    ['no mode', MERGE, { mode: null }, 422, 'config_mode_missing'],
    ['no operation', PATCH, [{ op: 'spin' }], 400, 'invalid_body'],
    ['no JSON', PATCH, '[', 400, 'invalid_body'],
    ['another content type', { 'content-type': 'application/json' }, {}, 415, 'not_json'],
  ])('is refused a patch with %s', async (_, headers, body, status, code) => {
    const { call, text } = await stage();
    expect(await call('PATCH /configuration', { body, headers })).toMatchObject({ status, body: { ok: false, code } });
    expect(await text()).toBe(FILE);
  });
});
