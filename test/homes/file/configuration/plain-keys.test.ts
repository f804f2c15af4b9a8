import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGateway } from '../../../../src/index.js';

const HEADERS = { authorization: 'Bearer t', 'content-type': 'application/json' };
const REFUSED = {
  status: 400,
  error: expect.stringMatching(/^Refused: the server that reads the file \(--server-version\) takes keys as plain/),
};
const TAKEN = { status: 200, error: undefined };

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-plain-'));
  path = join(folder, 'server.json');
});
afterEach(() => rm(folder, { recursive: true }));

const fileOf = (keys: readonly unknown[]) =>
  JSON.stringify({ mode: 'server', access_keys: keys, api: { enabled: true, token: 't' } });

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
  const live = () => [...app.keyway.core.keys.entries()].map(({ accessKey }) => accessKey);
  return { app, call, keysInFile, live };
}

describe.each(['0.2.0', '0.2.24', '0.2.30'])('beside a server of %s, which takes plain strings alone', (version) => {
  it('refuses a key with a name or a limit before anything changes, whatever makes it', async () => {
    const { app, call, keysInFile, live } = await stage(['a'], version);
    expect(await call('POST', 'users', { access_key: 'b', name: 'Bo' })).toEqual(REFUSED);
    expect(await call('POST', 'users', { access_key: 'b', limit_bytes: 0 })).toEqual(REFUSED);
    expect(await call('POST', 'users/bulk', { count: 2, limit_bytes: 5 })).toEqual(REFUSED);
    expect(await call('PUT', 'users/a', { name: 'A' })).toEqual(REFUSED);
    expect(await call('PUT', 'users/a/limit', { limit_bytes: 5 })).toEqual(REFUSED);
    expect(await call('PUT', 'server/config', fileOf(['a', { access_key: 'b', name: 'Bo' }]))).toEqual(REFUSED);
    expect(await keysInFile()).toEqual(['a']);
    expect(live()).toEqual(['a']);
    await app.close();
    expect(await keysInFile()).toEqual(['a']);
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

  it('lets an object that stands in the file become a plain string or go, and be sent back', async () => {
    const objects = [{ access_key: 'a', name: 'A' }, { access_key: 'b', limit_bytes: 5 }, 'c'];
    const { app, call, keysInFile } = await stage(objects, version);
    expect(await call('PUT', 'users/a', { name: 'Other' })).toEqual(REFUSED);
    expect(await call('PUT', 'server/config', fileOf(objects))).toEqual(TAKEN);
    expect(await call('PUT', 'users/b/limit', { limit_bytes: null })).toEqual(TAKEN);
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
