import { describe, expect, it, onTestFinished } from 'vitest';
import type { KeyChange } from '../../../../src/core/backend.js';
import { changeKey } from '../../../../src/core/keys/change-key.js';
import type { FileSystemPort, LogPort } from '../../../../src/core/ports.js';
import { createGateway } from '../../../../src/index.js';
import { createMemoryFiles } from '../../../../src/platform/memory-files.js';

const PATH = '/etc/server.json';

/** A file from which servers of every line with a root list start. */
const FILE = {
  mode: 'server',
  listen: '0.0.0.0:50000',
  access_keys: ['a'],
  api: { enabled: true, token: 't' },
  outbound: { enabled: true, protocol: 'socks5', address: '127.0.0.1', port: 9050, rules: [] },
};

/** A gateway over that file with other members, whose caller has its token. */
async function stage(revision: string, members: object = {}, options: { readonly serverVersion?: string } = {}) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(PATH, Buffer.from(JSON.stringify({ ...FILE, ...members })), 0o600);
  return over(fileSystem, revision, options);
}

async function over(
  fileSystem: FileSystemPort,
  revision: string,
  options: { readonly serverVersion?: string; readonly log?: LogPort } = {},
) {
  const app = await createGateway({ mounts: [{ revision }], configPath: PATH, fileSystem, ...options });
  onTestFinished(() => app.close());
  const root = app.keyway.mounts[0]?.revision.root.name === 'server root' ? '' : '/panel';
  const call = async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body?: unknown,
    type = 'application/json',
  ) => {
    const answer = await app.inject({
      method,
      url: `${root}${url}`,
      headers: { authorization: 'Bearer t', ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, body: answer.json() };
  };
  return {
    fileSystem,
    app,
    call,
    file: async () => JSON.parse((await fileSystem.read(PATH, 1 << 20)).toString()),
    troubles: async () =>
      (await app.keyway.backend.problems())
        .filter(({ problem }) => problem === 'config_unreadable_by_server')
        .map(({ reason }) => reason),
    kept: async () => (await fileSystem.list(`${PATH}.keyway/versions`)).filter((name) => name.includes('-forever')),
  };
}

const ENDED = 'a server of 0.3.6 does not start from the file any more: ';

describe('a write that a server does not start from any more, as the protocol wants it', () => {
  it('is made, is a problem that names the member, and keeps the content before for ever, until it starts again', async () => {
    const { call, file, troubles, kept } = await stage('current');
    const { listen: _, ...other } = FILE;
    expect(await call('PUT', '/api/server/config', other)).toMatchObject({ status: 200 });
    expect(await file()).toEqual(other);
    expect(await troubles()).toEqual([`${ENDED}listen: expected a string or an array of strings`]);
    expect(await kept()).toHaveLength(1);
    expect(await call('POST', '/api/users', { access_key: 'b' })).toMatchObject({ status: 200 });
    expect(await troubles()).toHaveLength(1);
    expect(await call('PUT', '/api/server/config', FILE)).toMatchObject({ status: 200 });
    expect(await troubles()).toEqual([]);
  });

  it('may be that of the last key', async () => {
    const { call, troubles, kept } = await stage('current');
    expect(await call('DELETE', '/api/users/a')).toMatchObject({ status: 200 });
    expect(await troubles()).toEqual([`${ENDED}access_keys: expected at least one key`]);
    expect(await kept()).toHaveLength(1);
    expect(await call('POST', '/api/users', { access_key: 'b' })).toMatchObject({ status: 200 });
    expect(await troubles()).toEqual([]);
  });

  it('is over with the first key of a file that had no list of keys', async () => {
    const { call, troubles } = await stage('current');
    const { access_keys: _, ...other } = FILE;
    expect(await call('PUT', '/api/server/config', other)).toMatchObject({ status: 200 });
    expect(await troubles()).toEqual([`${ENDED}access_keys: expected an array of keys`]);
    expect(await call('POST', '/api/users', { access_key: 'b' })).toMatchObject({ status: 200 });
    expect(await troubles()).toEqual([]);
  });

  it('is remembered over a restart, until the server starts again', async () => {
    const first = await stage('current');
    await first.call('DELETE', '/api/users/a');
    const ended = [`${ENDED}access_keys: expected at least one key`];
    await first.app.close();
    const next = await over(first.fileSystem, 'current');
    expect(await next.troubles()).toEqual(ended);
    await next.app.close();
    // Another line's server was never ended, and whether these start is not for its Keyway to say.
    const other = await over(first.fileSystem, '0.3.7');
    expect(await other.troubles()).toEqual([]);
    await other.app.close();
    const again = await over(first.fileSystem, 'current');
    expect(await again.troubles()).toEqual(ended);
    await again.call('POST', '/api/users', { access_key: 'b' });
    expect(await again.troubles()).toEqual([]);
  });

  it('is remembered of a Keyway that was killed, and over while it is mended by hand', async () => {
    const first = await stage('current');
    await first.call('PUT', '/api/server/config', { ...FILE, listen: 5 });
    const killed = createMemoryFiles();
    for (const path of ['/etc', `${PATH}.keyway`, `${PATH}.keyway/versions`]) await killed.makeFolder(path, 0o700);
    const copy = async (path: string) => killed.create(path, await first.fileSystem.read(path, 1 << 20), 0o600);
    await copy(PATH);
    await copy(`${PATH}.keyway/records.jsonl`);
    const next = await over(killed, 'current');
    expect(await next.troubles()).toEqual([`${ENDED}listen: expected a string or an array of strings`]);
    await killed.overwrite(PATH, Buffer.from(JSON.stringify(FILE)));
    await expect.poll(next.troubles).toEqual([]);
    await next.app.close();
    await killed.overwrite(PATH, Buffer.from(JSON.stringify({ ...FILE, listen: 5 })));
    expect(await (await over(killed, 'current')).troubles()).toEqual([]);
  });

  it('is none where no server of the mounts started before, or the one of --server-version goes on', async () => {
    const broken = await stage('current', { listen: 5 });
    expect(await broken.call('DELETE', '/api/users/a')).toMatchObject({ status: 200 });
    expect(await broken.troubles()).toEqual([]);
    const beside = await stage('current', { dns: null }, { serverVersion: '0.4.6' });
    expect(await beside.call('PUT', '/api/server/config', { ...FILE, dns: {} })).toMatchObject({ status: 200 });
    expect(await beside.troubles()).toEqual([]);
  });
});

describe('a deletion that waits for another change of its key', () => {
  it('does not take the last key away where others have gone meanwhile', async () => {
    const { app, file } = await stage('current', { access_keys: ['a', 'b'] });
    const { backend } = app.keyway;
    const change = (asked: KeyChange) => changeKey(backend, asked, { refuses: true });
    const renamed = change({ op: 'update', accessKey: 'a', update: { name: 'Anna' } });
    const refused = change({ op: 'delete', accessKey: 'a' });
    const deleted = change({ op: 'delete', accessKey: 'b' });
    await expect(refused).rejects.toMatchObject({ code: 'unreadableByServer' });
    await Promise.all([renamed, deleted]);
    expect((await file()).access_keys).toEqual([{ access_key: 'a', name: 'Anna' }]);
  });
});

describe("a batch of Keyway's own interface", () => {
  it('does not take the last key away, which no server starts without', async () => {
    const { call, file, troubles } = await stage('current', { access_keys: ['a', 'b'] });
    const items = ['a', 'b'].map((access_key) => ({ op: 'delete', access_key }));
    const { body } = await call('POST', '/keyway/v1/keys/batch?wait=30', { items });
    expect(body.data.items).toMatchObject([{ ok: true }, { ok: false, code: 'unreadable_by_server' }]);
    expect(body.data.items[1].error).toContain('expected at least one key (a server of 0.3.6)');
    expect((await file()).access_keys).toEqual(['b']);
    expect(await troubles()).toEqual([]);
  });
});

describe('DNS settings', () => {
  it('are written whole, so that a switch alone leaves a section that servers of the line read', async () => {
    const { call, file, troubles } = await stage('0.2.60');
    expect(await call('POST', '/api/dns/config', { enabled: true })).toMatchObject({ status: 200 });
    expect((await file()).dns).toEqual({
      enabled: true,
      doh_upstream: 'https://cloudflare-dns.com/dns-query',
      adblock_urls: [],
      custom_domains: {},
    });
    expect(await troubles()).toEqual([]);
  });
});

describe("a patch by Keyway's own interface", () => {
  const MERGE = 'application/merge-patch+json';
  const path = '/keyway/v1/configuration';

  it.each([
    [{ listen: 5 }, 'listen: expected a string or an array of strings'],
    [{ mode: 'clientt' }, 'mode: expected "server"'],
    [{ dns: { enabled: true } }, 'dns.doh_upstream: expected a string'],
    [{ outbound: { port: null } }, 'outbound.port: expected an integer from 0 to 65535'],
  ])('%j is refused with the member, and nothing is changed', async (patch, member) => {
    const { call, file, troubles } = await stage('current');
    const refused = await call('PATCH', path, patch, MERGE);
    expect(refused).toMatchObject({ status: 422, body: { code: 'unreadable_by_server' } });
    expect(refused.body.error).toBe(
      `the server that reads the file would not start from it: ${member} (a server of 0.3.6)`,
    );
    expect(await file()).toEqual(FILE);
    expect(await troubles()).toEqual([]);
    expect(await call('PATCH', path, { debug: true }, MERGE)).toMatchObject({ status: 200 });
  });

  it('that takes the last credential away is refused unless it is forced', async () => {
    const { call, file } = await stage('current');
    expect(await call('PATCH', path, { api: { token: null } }, MERGE)).toMatchObject({
      status: 422,
      body: { code: 'lock_out' },
    });
    expect(await file()).toEqual(FILE);
    const login = { username: 'boss', password_hash: '0'.repeat(64), token: null };
    expect(await call('PATCH', path, { api: login }, MERGE)).toMatchObject({ status: 200 });
  });

  it('may take the last credential away where it is forced', async () => {
    const { call, file } = await stage('current');
    const forced = await call('PATCH', `${path}?force=lock-out`, { api: { token: null } }, MERGE);
    expect(forced).toMatchObject({ status: 200 });
    expect((await file()).api).toEqual({ enabled: true });
  });
});
