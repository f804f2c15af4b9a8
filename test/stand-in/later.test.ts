import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderForTest } from '../serve/serve-here.js';
import { apiOf, CREDENTIALS, ROOT_LIST_FILE } from './files.js';
import type { StandIn, StandInOptions } from './stand-in.js';
import { standInOf } from './test-stand-in.js';

/** What is known of servers from 0.4.0 on, one fact a test (../shared/lines-0.4.md); 0.4.6 and 0.4.7 were recorded as well. */

const QUIET: Partial<StandInOptions> = { reloadFactor: 0, pauseMilliseconds: 0 };
const LATER = ['0.4.6', '0.4.7'];
/** SHA-256 and PBKDF2 of `correct horse` (section 7). */
const SHA256 = '4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631';
const PBKDF2 =
  'pbkdf2-sha256$300000$000102030405060708090a0b0c0d0e0f$3c87ede8488cbd7500d65f2c33562dd102141c7b4e66c16a973c5139406891f5';

async function stage(line: string, text = ROOT_LIST_FILE, options: Partial<StandInOptions> = {}) {
  const folder = await folderForTest();
  const file = join(folder, 'server.jsonc');
  await writeFile(file, text);
  const standIn = await standInOf(line, { ...QUIET, ...options, file }, text);
  return { standIn, folder, file, api: apiOf(standIn) };
}

const withMember = (member: string) => ROOT_LIST_FILE.replace('"mode"', `${member}, "mode"`);
const keysOf = (standIn: StandIn) =>
  standIn
    .keys()
    .map(({ accessKey }) => accessKey)
    .sort();
const send = ({ origin, paths }: StandIn, path: string, init: RequestInit = {}) =>
  fetch(`${origin}${paths.api}${path}`, init);

describe.each(LATER)('a server of %s', (line) => {
  test('tells nine members of its status, and where clients find it', async () => {
    const { api, standIn } = await stage(
      line,
      withMember('"domain": "vpn.example.com", "tls": { "enabled": true }, "subscription": { "enabled": true }'),
    );
    standIn.count('alpha', { up: 3n, down: 4n, connections: 2n });
    expect((await api('GET', '/server/status')).data).toEqual({
      version: line,
      uptime_seconds: expect.any(Number),
      active_users: 1,
      total_users: 2,
      online_users: 1,
      connections: 2,
      bytes_up: 3,
      bytes_down: 4,
      endpoint: {
        host: 'vpn.example.com',
        udp_port: 50000,
        tls: { host: 'vpn.example.com', port: 443, path: null },
        subscription_prefix: '/sub',
        dns_enabled: false,
      },
    });
  });

  test('starts no API where nobody could sign in, whatever the token is worth', async () => {
    const open = ROOT_LIST_FILE.replace(CREDENTIALS.token, ' ').replace('"admin"', '""');
    await expect(stage(line, open)).rejects.toThrow('the API is not started');
  });

  test('has its counters after a restart, and after a crash those of the last write', async () => {
    const { standIn, folder, api } = await stage(line);
    const traffic = async () => (await api('GET', '/users/alpha')).data;
    standIn.count('alpha', { up: 5n, connections: 1n });
    await standIn.restart();
    expect(await traffic()).toMatchObject({ bytes_up: 5, connections: 0, online: false });
    standIn.count('alpha', { up: 5n, connections: 1n });
    await standIn.storeCounters();
    standIn.count('alpha', { up: 7n });
    await standIn.crash();
    expect(await traffic()).toMatchObject({ bytes_up: 10, connections: 0 });
    const path = join(folder, '.ostp_stats.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const { users } = JSON.parse(await readFile(path, 'utf8'));
    expect(users[0]).toEqual({
      access_key: 'alpha',
      name: null,
      bytes_up: 10,
      bytes_down: 0,
      connections: 0,
      limit_bytes: null,
      online: false,
      last_seen: null,
    });
    await writeFile(path, '{');
    await standIn.crash();
    expect(await traffic()).toMatchObject({ bytes_up: 0 });
  });

  test('counts live connections, which fall, and of one that a reset forgot nothing', async () => {
    const { standIn, api } = await stage(line);
    const online = async () => ((await api('GET', '/users/alpha')).data as { readonly online: boolean }).online;
    standIn.count('alpha', { connections: 1n });
    expect(await online()).toBe(true);
    standIn.count('alpha', { connections: -1n });
    expect(await online()).toBe(false);
    standIn.count('alpha', { connections: 1n });
    await api('POST', '/users/alpha/reset');
    standIn.count('alpha', { connections: -1n });
    expect(await online()).toBe(false);
  });

  test('drops all keys where the list is missing, and none where an element is odd', async () => {
    const { standIn, file } = await stage(line);
    await writeFile(file, ROOT_LIST_FILE.replace('"alpha"', '5'));
    await standIn.reload();
    expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
    await rm(file);
    await writeFile(file, ROOT_LIST_FILE.replace('"access_keys"', '"other"'));
    await standIn.reload();
    expect(keysOf(standIn)).toEqual([]);
  });

  test('reads a body before the credential, and refuses it in plain text', async () => {
    const { standIn } = await stage(line);
    const post = async (body: string, type: string) => {
      const answer = await send(standIn, '/users', { method: 'POST', body, headers: { 'content-type': type } });
      return [answer.status, answer.headers.get('content-type')];
    };
    expect(await post('{', 'application/json')).toEqual([400, 'text/plain; charset=utf-8']);
    expect(await post('{"limit_bytes":-1}', 'application/json')).toEqual([422, 'text/plain; charset=utf-8']);
    expect(await post('{}', 'text/plain')).toEqual([415, 'text/plain; charset=utf-8']);
    expect(await post('{}', 'application/json')).toEqual([401, 'application/json']);
    expect((await send(standIn, '/audit')).status).toBe(401);
  });

  test('writes DNS settings with a copy of the file before, and replaces all of them', async () => {
    const { api, folder, file } = await stage(line);
    expect((await api('PUT', '/dns/settings', { upstreams: ['tls://9.9.9.9'], enabled: true })).data).toBe(true);
    expect((await api('GET', '/dns/settings')).data).toMatchObject({ upstreams: ['tls://9.9.9.9'], cache_size: 10000 });
    expect(await readFile(join(folder, 'server.json.bak'), 'utf8')).toBe(ROOT_LIST_FILE);
    expect(JSON.parse(await readFile(file, 'utf8')).dns.enabled).toBe(true);
    const refused = await api('PUT', '/dns/settings', { enabled: true, upstreams: [] });
    expect(refused.error).toBe('dns.upstreams must name at least one upstream resolver');
    expect((await api('GET', '/dns/meta')).ok).toBe(true);
  });

  test('gives a link of each carrier, with the key percent-encoded', async () => {
    const tls =
      '"domain": "vpn.example.com", "tls": { "enabled": true, "frontend": "nginx", "ws_path": "/s3cr3tpath" }';
    const { standIn, api } = await stage(line, withMember(tls));
    const text = { headers: { accept: 'text/plain' } };
    expect(await (await send(standIn, '/subscribe/alpha?transport=udp', text)).json()).toEqual({
      data: 'ostp://alpha@vpn.example.com:50000?type=udp',
      links: {
        tls: 'ostp://alpha@vpn.example.com:443?type=uot&tls=1&path=%2Fs3cr3tpath',
        udp: 'ostp://alpha@vpn.example.com:50000?type=udp',
      },
      ok: true,
    });
    expect((await api('GET', '/users/beta/share')).data).toMatchObject({
      udp: 'ostp://beta@vpn.example.com:50000?type=udp&name=Beta%20%C2%B7%20UDP',
      subscription: null,
    });
    expect((await api('POST', '/qr', { text: 'x'.repeat(2049) })).error).toBe('text too long for a QR code');
  });
});

describe('what 0.4.7 does and 0.4.6 does not', () => {
  const signIn = async ({ origin, paths }: StandIn, password: string) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ username: 'admin', password });
    const answer = await fetch(`${origin}${paths.api}/login`, { method: 'POST', headers, body });
    return answer.status;
  };
  const fileWith = (hash: string) => ROOT_LIST_FILE.replace(/"[0-9a-f]{64}"/, `"${hash}"`);

  test.each([
    ['0.4.6', SHA256, 200],
    ['0.4.6', SHA256.toUpperCase(), 401],
    ['0.4.6', PBKDF2, 401],
    ['0.4.7', SHA256.toUpperCase(), 200],
    ['0.4.7', PBKDF2, 200],
  ])('%s with %s answers a right password %i', async (line, hash, status) => {
    const { standIn } = await stage(line, fileWith(hash));
    expect(await signIn(standIn, 'correct horse')).toBe(status);
    expect(await signIn(standIn, 'wrong')).toBe(401);
  });

  test('ten failures in a minute lock everybody out, the right password too, for six seconds', async () => {
    let time = 0;
    const clock = { now: () => time, monotonic: () => time };
    const { standIn } = await stage('0.4.7', fileWith(SHA256), { clock });
    for (let n = 0; n < 10; n += 1) expect(await signIn(standIn, 'wrong')).toBe(401);
    expect(await signIn(standIn, 'correct horse')).toBe(429);
    time += 6_000;
    expect(await signIn(standIn, 'correct horse')).toBe(200);
  });

  test.each([
    ['0.4.6', 200, '*'],
    ['0.4.7', 405, null],
  ])('pages of other origins: %s answers OPTIONS %i', async (line, status, origin) => {
    const { standIn } = await stage(line);
    const answer = await send(standIn, '/users', { method: 'OPTIONS', headers: { origin: 'https://other.example' } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, origin]);
  });

  test.each([
    ['0.4.6', 'text/html'],
    ['0.4.7', 'application/json'],
  ])('overnet of %s is answered as %s', async (line, type) => {
    const { standIn } = await stage(line);
    const answer = await send(standIn, '/overnet', { headers: { authorization: `Bearer ${CREDENTIALS.token}` } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
  });
});

test('a beta that reports 0.4.6 may lack its members, its DNS routes and its counters', async () => {
  const { standIn, api } = await stage('0.4.6', ROOT_LIST_FILE, { lacking: ['endpoint', 'dns', 'counters'] });
  expect(Object.keys((await api('GET', '/server/status')).data as object)).toHaveLength(4);
  expect((await send(standIn, '/dns/meta')).headers.get('content-type')).toBe('text/html');
  standIn.count('alpha', { up: 5n });
  await standIn.restart();
  expect((await api('GET', '/users/alpha')).data).toMatchObject({ bytes_up: 0 });
});
