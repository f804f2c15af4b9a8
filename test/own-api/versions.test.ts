import { describe, expect, it, vi } from 'vitest';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { someOf } from '../whole.js';
import { databaseStage, fileStage, frontStage } from './homes.js';
import { type OwnReply, type OwnStage, ownStage } from './stage.js';

const PATH = '/etc/server.json';
const FILE = `{
  "mode": "server", // as ever
  "listen": "0.0.0.0:50000",
  "access_keys": ["first", "second"],
  "api": { "enabled": true, "bind": "127.0.0.1:9090", "token": "T0ken" },
  "dns": { "enabled": false }
}
`;
const MERGE = { 'content-type': 'application/merge-patch+json' };

async function stage(text = FILE) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(PATH, Buffer.from(text), 0o600);
  const { app, call } = await ownStage({ configPath: PATH, fileSystem });
  return {
    app,
    call,
    text: async () => (await fileSystem.read(PATH, 1 << 20)).toString(),
    async write(broken: string) {
      await fileSystem.remove(PATH);
      await fileSystem.create(PATH, Buffer.from(broken), 0o600);
    },
  };
}

interface Version {
  readonly id: string;
  readonly reason: string | null;
  readonly members: readonly string[] | null;
}

const versionsOf = ({ body }: OwnReply) => (body as unknown as { readonly data: readonly Version[] }).data;
const beforeOf = ({ body }: OwnReply) =>
  (body as unknown as { readonly data: { readonly before: string } }).data.before;

describe('the kept versions of the configuration in an interface of Keyway', () => {
  it('are listed newest first, each with why it was kept and what its restore would change', async () => {
    const { app, call } = await stage();
    expect((await call('GET /configuration/versions')).body).toEqual({ ok: true, data: [] });
    expect((await call('PATCH /configuration', { body: { dns: { enabled: true } }, headers: MERGE })).status).toBe(200);
    await app.keyway.core.deleteUser('second');
    const listed = await call('GET /configuration/versions');
    expect(listed.status).toBe(200);
    expect(versionsOf(listed)).toEqual([
      {
        id: expect.stringMatching(/^\d{8}T\d{9}Z-[0-9a-f]{32}$/),
        kept_at: expect.stringMatching(/Z$/),
        reason: 'keys_removed',
        forever: false,
        ...{ keys_added: 1n, keys_removed: 0n, keys_changed: 0n, members: [] },
      },
      expect.objectContaining({ reason: 'settings_changed', forever: false, keys_added: 1n, members: ['dns'] }),
    ]);
  });

  it('are each read whole, as a list that anybody with less than everything is refused', async () => {
    const { call } = await stage();
    await call('PATCH /configuration', { body: { dns: { enabled: true } }, headers: MERGE });
    const [version] = versionsOf(await call('GET /configuration/versions'));
    const read = await call(`GET /configuration/versions/${version?.id}`);
    expect(read).toMatchObject({ status: 200, body: { ok: true, data: { mode: 'server', dns: { enabled: false } } } });
    const made = await call('POST /tokens', { body: { name: 'less', may: 'keys' } });
    const { token } = (made.body as unknown as { readonly data: { readonly token: string } }).data;
    const headers = { authorization: `Bearer ${token}` };
    for (const endpoint of ['GET /configuration/versions', `GET /configuration/versions/${version?.id}`])
      expect((await call(endpoint, { headers })).status).toBe(403);
    expect((await call(`POST /configuration/versions/${version?.id}/restore`, { headers })).status).toBe(403);
  });

  it('come back byte for byte, and so does what stood there before', async () => {
    const { app, call, text } = await stage();
    await call('PATCH /configuration', { body: { dns: { enabled: true } }, headers: MERGE });
    await app.keyway.core.deleteUser('second');
    const changed = await text();
    const oldest = versionsOf(await call('GET /configuration/versions')).at(-1);
    const restored = await call(`POST /configuration/versions/${oldest?.id}/restore`);
    expect(restored.status).toBe(200);
    expect(await text()).toBe(FILE);
    expect([...app.keyway.core.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['first', 'second']);
    expect((await call(`POST /configuration/versions/${beforeOf(restored)}/restore`)).status).toBe(200);
    expect(await text()).toBe(changed);
  });

  it('are refused where they are unknown, and change nothing then', async () => {
    const { call, text } = await stage();
    for (const id of ['20260101T000000000Z-00', '..%2F..%2Fserver', 'x'.repeat(500)]) {
      expect(await call(`GET /configuration/versions/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
      expect((await call(`POST /configuration/versions/${id}/restore`)).status).toBe(404);
    }
    expect(await text()).toBe(FILE);
  });

  it('are refused where a server starts from what is there, and none from the version, by the member', async () => {
    const { app, call, text } = await stage();
    await app.keyway.core.replaceConfig(Buffer.from(FILE.replace('"server", // as ever', '"server", "debug": 5,')));
    await app.keyway.core.replaceConfig(Buffer.from(FILE.replace(' // as ever', '')));
    const before = await text();
    const version = versionsOf(await call('GET /configuration/versions'))[0];
    expect(version?.members).toContain('debug');
    const refused = await call(`POST /configuration/versions/${version?.id}/restore`);
    expect(refused).toMatchObject({ status: 422, body: { code: 'unreadable_by_server' } });
    expect(JSON.stringify(refused.body)).toContain('debug: expected');
    expect(await text()).toBe(before);
  });

  it('are refused where no credential would be left', async () => {
    const { app, call, text } = await stage(FILE.replace('"T0ken"', '""'));
    await app.keyway.core.replaceConfig(Buffer.from(FILE.replace(' // as ever', '')));
    const before = await text();
    const [version] = versionsOf(await call('GET /configuration/versions'));
    const refused = await call(`POST /configuration/versions/${version?.id}/restore`);
    expect(refused).toMatchObject({ status: 422, body: { code: 'lock_out' } });
    expect(await text()).toBe(before);
  });

  it.each(['{ broken', '', '[]'])('come back where %j stands in the file, which no server reads', async (broken) => {
    const { app, call, text, write } = await stage();
    await call('PATCH /configuration', { body: { dns: { enabled: true } }, headers: MERGE });
    await write(broken);
    const [version] = versionsOf(await call('GET /configuration/versions'));
    const restored = await call(`POST /configuration/versions/${version?.id}/restore`);
    expect(restored).toMatchObject({ status: 200, body: { ok: true } });
    expect(await text()).toBe(FILE);
    expect([...app.keyway.core.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['first', 'second']);
  });

  it('are refused where no credential would be left, also where nobody can read which one there is', async () => {
    const { app, call, write } = await stage(FILE.replace('"T0ken"', '""'));
    await app.keyway.core.replaceConfig(Buffer.from(FILE.replace(' // as ever', '')));
    const [version] = versionsOf(await call('GET /configuration/versions'));
    await write('{ broken');
    const refused = await call(`POST /configuration/versions/${version?.id}/restore`);
    expect(refused).toMatchObject({ status: 422, body: { code: 'lock_out' } });
  });
});

const HOMES: readonly (readonly [string, () => Promise<OwnStage>])[] = [
  ['a configuration file', fileStage],
  ['a database', databaseStage],
  ['a running server', frontStage],
];

it.each(
  someOf(HOMES, 1),
)('a key that was removed comes back with the version of before, and goes again, over %s', async (_home, open) => {
  const { app, call } = await open();
  const { core } = app.keyway;
  if (core.keys.size === 0) await core.createUser({ accessKey: 'stays' });
  await core.createUser({ accessKey: 'comes-back', name: 'Anna' });
  await core.deleteUser('comes-back');
  const names = async () => {
    await core.freshenKeys();
    return [...core.keys.entries()].map(({ accessKey }) => accessKey);
  };
  const [version] = versionsOf(await call('GET /configuration/versions'));
  expect(version?.reason).toBe('keys_removed');
  const restored = await call(`POST /configuration/versions/${version?.id}/restore`);
  expect(restored).toMatchObject({ status: 200, body: { ok: true } });
  await expect.poll(names).toContain('comes-back');
  await call(`POST /configuration/versions/${beforeOf(restored)}/restore`);
  await expect.poll(names).not.toContain('comes-back');
});

it.each(
  someOf(HOMES, 1),
)('a restore names the version of before where a key was made meanwhile, over %s', async (_home, open) => {
  const { app, call } = await open();
  const { core } = app.keyway;
  if (core.keys.size === 0) await core.createUser({ accessKey: 'stays' });
  await core.createUser({ accessKey: 'comes-back' });
  await core.deleteUser('comes-back');
  const [version] = versionsOf(await call('GET /configuration/versions'));
  const versions = core.versions();
  const present = async () => {
    const bytes = await versions.present();
    await core.createUser({ accessKey: 'meanwhile' });
    return bytes;
  };
  const looking = vi.spyOn(core, 'versions').mockReturnValue({ ...versions, present });
  const restored = await call(`POST /configuration/versions/${version?.id}/restore`);
  looking.mockRestore();
  const [newest] = versionsOf(await call('GET /configuration/versions'));
  expect(restored).toMatchObject({ status: 200, body: { ok: true } });
  expect(beforeOf(restored)).toBe(newest?.id);
});
