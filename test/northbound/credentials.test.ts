import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { createGateway } from '../../src/index.js';
import { folderForTest } from '../folder-for-test.js';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

async function fileWith(api: object): Promise<{ path: string; write(api: object): Promise<void> }> {
  const folder = await folderForTest();
  const path = join(folder, 'server.json');
  const write = (next: object) => writeFile(path, JSON.stringify({ mode: 'server', access_keys: [], api: next }));
  await write(api);
  return { path, write };
}

const api = { enabled: true, bind: '127.0.0.1:0', token: 'old', username: 'admin', password_hash: PASSWORD_HASH };

it('a token changed in the file is live, the one before is refused, and every session has ended', async () => {
  const file = await fileWith(api);
  const mounts = [{ revision: 'current' }, { revision: 'dns', webpath: 'dns' }];
  const app = await gatewayForTest({ mounts, configPath: file.path, pollMilliseconds: 20 });
  const login = async (base: string): Promise<string> => {
    const payload = { username: 'admin', password: 'password' };
    return (await app.inject({ method: 'POST', url: `${base}/api/login`, payload })).json().data.token;
  };
  const status = async (base: string, token: string): Promise<number> =>
    (await app.inject({ url: `${base}/api/server/status`, headers: { authorization: `Bearer ${token}` } })).statusCode;
  const sessions = { '/panel': await login('/panel'), '/dns': await login('/dns') };
  expect([await status('/panel', 'old'), await status('/panel', sessions['/panel'])]).toEqual([200, 200]);
  expect([await status('/dns', sessions['/dns']), await status('/dns', sessions['/panel'])]).toEqual([200, 401]);
  await file.write({ ...api, token: 'new' });
  await vi.waitFor(async () => expect(await status('/panel', 'new')).toBe(200), { timeout: 20_000 });
  expect([await status('/panel', 'old'), await status('/panel', sessions['/panel'])]).toEqual([401, 401]);
  expect(await status('/dns', sessions['/dns'])).toBe(401);
});

it('a gateway that cannot be composed gives the data folder back', async () => {
  const file = await fileWith(api);
  const twice = { configPath: file.path, mounts: [{ revision: 'current' }, { revision: '0.2.96' }] };
  await expect(createGateway(twice)).rejects.toThrow(/current at \/panel\/api and current at \/panel\/api overlap/);
  const app = await gatewayForTest({ configPath: file.path, mounts: [{ revision: 'current' }] });
  expect(app.keyway.mounts).toHaveLength(1);
});
