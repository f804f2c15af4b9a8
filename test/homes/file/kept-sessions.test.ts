import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createGateway } from '../../../src/index.js';

const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';
const OTHER_HASH = 'd74ff0ee8da3b9806b18c877dbf29bbde50b5bd8e4dad7a3a725000feb82e8f1';

let folder: string;
let config: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-sessions-'));
  config = join(folder, 'server.json');
  await writeConfig(PASSWORD_HASH);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function writeConfig(hash: string): Promise<void> {
  const api = { enabled: true, bind: '127.0.0.1:0', username: 'admin', password_hash: hash };
  return writeFile(config, JSON.stringify({ mode: 'server', access_keys: [], api }));
}

const open = () => createGateway({ mounts: [{ revision: 'current' }], configPath: config, loginGuard: 'off' });

type Gateway = Awaited<ReturnType<typeof open>>;

async function logIn(gateway: Gateway): Promise<string> {
  const payload = { username: 'admin', password: 'password' };
  return (await gateway.inject({ method: 'POST', url: '/panel/api/login', payload })).json().data.token;
}

async function statusWith(gateway: Gateway, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await gateway.inject({ url: '/panel/api/server/status', headers })).statusCode;
}

const kept = () => join(`${config}.keyway`, 'sessions.json');

it('a session outlives the gateway, by a digest that only its owner can read, and another token does not pass', async () => {
  const first = await open();
  const token = await logIn(first);
  await first.close();
  const text = await readFile(kept(), 'utf8');
  expect(text).not.toContain(token);
  expect((await stat(kept())).mode & 0o777).toBe(0o600);
  const second = await open();
  expect(await statusWith(second, 'another')).toBe(401);
  expect(await statusWith(second, token)).toBe(200);
  expect(await statusWith(second, token.replace(/.$/, 'x'))).toBe(401);
  const newer = await logIn(second);
  expect(await statusWith(second, token)).toBe(401);
  await second.close();
  const third = await open();
  expect(await statusWith(third, token)).toBe(401);
  expect(await statusWith(third, newer)).toBe(200);
  await third.close();
});

it('credentials that changed while nobody served end it, and putting them back does not bring it again', async () => {
  const first = await open();
  const token = await logIn(first);
  await first.close();
  await writeConfig(OTHER_HASH);
  const second = await open();
  expect(await statusWith(second, token)).toBe(401);
  await second.close();
  await writeConfig(PASSWORD_HASH);
  const third = await open();
  expect(await statusWith(third, token)).toBe(401);
  await third.close();
});

it('what cannot be read is as if nothing were kept, and the next login is kept again', async () => {
  await (await open()).close();
  for (const text of ['{', '[]', '{"credentials":1}', '{"credentials":"x","sessions":{"/panel/api":5}}']) {
    await writeFile(kept(), text);
    const gateway = await open();
    expect(await statusWith(gateway, 'x')).toBe(401);
    await logIn(gateway);
    await gateway.close();
    expect(await readFile(kept(), 'utf8')).toContain('/panel/api');
  }
});
