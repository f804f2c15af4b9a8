import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGateway } from '../../../../src/index.js';

const HEADERS = { authorization: 'Bearer t', 'content-type': 'application/json' };
const TAKEN = { status: 200, error: undefined };

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-plain-'));
  path = join(folder, 'server.json');
});
afterEach(() => rm(folder, { recursive: true }));

const fileOf = (keys: readonly unknown[]) =>
  JSON.stringify({ mode: 'server', listen: '[::]:50000', access_keys: keys, api: { enabled: true, token: 't' } });

/** A gateway over a file with these keys that a server of a version reads. */
async function stage(keys: readonly unknown[], serverVersion?: string) {
  await writeFile(path, fileOf(keys));
  const beside = serverVersion === undefined ? {} : { serverVersion };
  const app = await createGateway({ mounts: [{ revision: 'current' }], configPath: path, ...beside });
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, body?: unknown) => {
    const payload = body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) };
    const answer = await app.inject({ method, url: `/panel/api/${url}`, headers: HEADERS, ...payload });
    return { status: answer.statusCode, error: answer.json().error };
  };
  const keysInFile = async () => JSON.parse(await readFile(path, 'utf8')).access_keys;
  const troubles = async () => (await app.keyway.backend.problems()).map(({ reason }) => reason);
  return { app, call, keysInFile, troubles };
}

describe.each(['0.2.0', '0.2.24', '0.2.30'])('beside a server of %s, which takes plain strings alone', (version) => {
  it('answers a name or a limit as the protocol says, and says that the server does not start from it', async () => {
    const { app, call, keysInFile, troubles } = await stage(['a'], version);
    expect(await call('POST', 'users', { access_key: 'b', name: 'Bo' })).toEqual(TAKEN);
    expect(await keysInFile()).toEqual(['a', { access_key: 'b', name: 'Bo' }]);
    expect(await troubles()).toEqual([expect.stringContaining('access_keys: expected a string, as each key')]);
    expect(await call('PUT', 'users/b', {})).toEqual(TAKEN);
    expect([await keysInFile(), await troubles()]).toEqual([['a', 'b'], []]);
    await app.close();
  });

  it("refuses one in a batch of Keyway's own interface, before anything changes", async () => {
    const { app, keysInFile } = await stage(['a'], version);
    const key = { accessKey: 'b', name: 'Bo', limitBytes: null };
    const [outcome] = await app.keyway.backend.changes.apply([{ op: 'create', key }], { note: 'note', refuses: true });
    expect(outcome).toMatchObject({ code: 'unreadableByServer' });
    expect(await keysInFile()).toEqual(['a']);
    await app.close();
  });

  it("refuses one in a key's patch by Keyway's own interface, and of its commands, with the reason", async () => {
    const { app, keysInFile } = await stage(['a'], version);
    const patch = { method: 'PATCH' as const, url: '/panel/keyway/v1/keys/a', headers: HEADERS };
    const patched = await app.inject({ ...patch, payload: '{"limit_bytes":5}' });
    expect([patched.statusCode, patched.json().code]).toEqual([422, 'unreadable_by_server']);
    const control = app.keyway.control();
    for (const [method, path, payload] of [
      ['POST', 'users', '{"access_key":"b","name":"Bo"}'],
      ['PUT', 'users/a', '{"name":"Anna"}'],
      ['DELETE', 'users/a', undefined],
    ] as const) {
      const headers = payload === undefined ? {} : { 'content-type': 'application/json' };
      const answer = await control.inject({ method, url: `/panel/api/${path}`, headers, ...(payload && { payload }) });
      expect([answer.statusCode, answer.json().error], path).toEqual([
        422,
        expect.stringContaining(`(a server of ${version})`),
      ]);
    }
    expect(await keysInFile()).toEqual(['a']);
    await control.close();
    await app.close();
  });

  it('writes a key of which nothing is said as a plain string', async () => {
    const { app, call, keysInFile } = await stage(['a'], version);
    expect(await call('POST', 'users', { access_key: 'b' })).toEqual(TAKEN);
    expect(await call('PUT', 'users/a/limit', { limit_bytes: null })).toEqual(TAKEN);
    expect(await call('PUT', 'server/config', fileOf(['a', 'b', 'c']))).toEqual(TAKEN);
    expect(await call('DELETE', 'users/a')).toEqual(TAKEN);
    expect(await keysInFile()).toEqual(['b', 'c']);
    await app.close();
  });
});

describe.each(['0.2.31', '0.2.96', undefined])('beside a server of %s, which takes objects', (version) => {
  it('writes names and limits as objects', async () => {
    const { app, call, keysInFile } = await stage(['a'], version);
    expect(await call('POST', 'users', { access_key: 'b', name: 'Bo', limit_bytes: 5 })).toEqual(TAKEN);
    expect(await call('PUT', 'users/a/limit', { limit_bytes: 7 })).toEqual(TAKEN);
    expect(await keysInFile()).toEqual([
      { access_key: 'a', limit_bytes: 7 },
      { access_key: 'b', name: 'Bo', limit_bytes: 5 },
    ]);
    await app.close();
  });
});
