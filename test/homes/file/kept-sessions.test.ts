import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalRecords, RecordTable } from '../../../src/core/kept-records.js';
import { openKeptSessions } from '../../../src/homes/file/kept-sessions.js';
import { createGateway } from '../../../src/index.js';
import { createFileSystem } from '../../../src/platform/file-system.js';

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

const kept = () => join(`${config}.keyway`, 'records.jsonl');
const earlier = () => join(`${config}.keyway`, 'sessions.json');

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

it('a session that ended while the disk was full does not come back with the next one that is kept', async () => {
  const table = new RecordTable();
  let isFull = false;
  const records = new LocalRecords(table, async () => {
    if (isFull) throw new Error('ENOSPC');
  });
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const openOver = () => openKeptSessions({ records, dataFolder: folder, fileSystem: createFileSystem(), log: silent });
  const first = await openOver();
  first.holdTo('old');
  for (const mount of ['/a', '/b', '/c']) await first.session(mount).begin(`token of ${mount}`);
  isFull = true;
  await first.session('/a').end();
  first.holdTo('new');
  await records.close();
  isFull = false;
  await first.session('/c').begin('another');
  await records.close();
  const next = await openOver();
  next.holdTo('new');
  const held = ['/a', '/b', '/c'].map((mount) => next.session(mount).isHeld());
  expect(held).toEqual([false, false, true]);
});

describe('the file in which Keyways up to 0.9 kept sessions', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

  it('is taken over, and gone', async () => {
    await (await open()).close();
    const records = (await readFile(kept(), 'utf8')).trim();
    const [, credentials] = /"credentials","\\"([0-9a-f]{64})/.exec(records) ?? [];
    await writeFile(earlier(), JSON.stringify({ credentials, sessions: { '/panel/api': sha256('a token') } }));
    for (const _start of [1, 2]) {
      const gateway = await open();
      expect(await statusWith(gateway, 'a token')).toBe(200);
      expect(await statusWith(gateway, 'another')).toBe(401);
      await gateway.close();
      await expect(stat(earlier())).rejects.toThrow('ENOENT');
    }
  });

  it('takes the place of what a later Keyway had kept before', async () => {
    const first = await open();
    const token = await logIn(first);
    await first.close();
    const [, credentials] = /"credentials","\\"([0-9a-f]{64})/.exec(await readFile(kept(), 'utf8')) ?? [];
    await writeFile(earlier(), JSON.stringify({ credentials, sessions: {} }));
    const second = await open();
    expect(await statusWith(second, token)).toBe(401);
    await second.close();
  });

  it('counts no more than none where it cannot be read, or is of other credentials', async () => {
    await (await open()).close();
    const others = JSON.stringify({ credentials: sha256('other'), sessions: { '/panel/api': sha256('x') } });
    for (const text of ['{', '[]', '{"credentials":1}', '{"credentials":"x","sessions":{"/panel/api":5}}', others]) {
      await writeFile(earlier(), text);
      const gateway = await open();
      expect(await statusWith(gateway, 'x')).toBe(401);
      const token = await logIn(gateway);
      await gateway.close();
      const next = await open();
      expect(await statusWith(next, token)).toBe(200);
      await next.close();
    }
  });
});
