import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endpointIn } from '../../../src/client/find-line.js';
import { createGateway } from '../../../src/index.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { call } from '../../client/called-server.js';
import { folderForTest } from '../../folder-for-test.js';
import { createKey } from '../../ports/key-changes.js';
import { apiOf, CREDENTIALS, fileOf } from '../../stand-in/files.js';
import type { StandIn } from '../../stand-in/stand-in.js';
import { keysOf, LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { someOf } from '../../whole.js';
import { openFrontBackend } from './open-front.js';

const RULE = { domainSuffix: ['.a'], ipCidr: [], protocol: null, action: 'direct' as const };

test.each([
  ['with TLS', { tlsHost: 'tls.example' }],
  ['without TLS', {}],
])('links of a server %s name its UDP port, host and port as its status tells them, whatever stands in the key', async (_, tls) => {
  const announced = { host: '2001:db8::1', port: 50_001, shareScheme: 'ostp', shareQuery: '' };
  const standIn = await standInOf('0.4.6', { ...LOSES_NOTHING, announced, ...tls });
  const server = call(standIn.origin, { webpath: 'panel', credentials: { token: CREDENTIALS.token, operator: null } });
  const key = 'ключ a@b';
  await server.createUser({ accessKey: key, name: null, limitBytes: null });
  for (const each of ['alpha', key]) {
    const { value } = await server.subscription(each);
    expect(value).toEqual({
      host: '[2001:db8::1]',
      port: 50_001,
      shareScheme: 'ostp',
      shareQuery: '?type=udp',
      ownDns: false,
    });
  }
  expect((await server.subscription('nobody')).value).toBeUndefined();
});

test.each([
  ['with TLS', { tlsHost: 'tls.example' }, 'ostp://alpha@tls.example:443?type=uot&tls=1', 'uot'],
  ['without TLS', {}, 'ostp://alpha@vpn.example:50001?type=udp', 'udp'],
])('the link of a key and its client configuration, as people get them, are of the carrier that a server %s has', async (_, tls, link, mode) => {
  const announced = { host: 'vpn.example', port: 50_001, shareScheme: 'ostp', shareQuery: '' };
  const standIn = await standInOf('0.4.7', { ...LOSES_NOTHING, announced, ...tls });
  const server = call(standIn.origin, { webpath: 'panel', credentials: { token: CREDENTIALS.token, operator: null } });
  expect((await server.link('alpha')).value).toBe(link);
  expect((await server.clientConfig('alpha')).value).toMatchObject({ transport: { mode } });
  expect([(await server.link('nobody')).value, (await server.clientConfig('nobody')).value]).toEqual([
    undefined,
    undefined,
  ]);
});

test('what a running server says of TLS wins over what its file says', async () => {
  const standIn = await standInOf('0.4.7', { ...LOSES_NOTHING, tlsHost: 'tls.example' });
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock: systemClock,
    dataFolder: join(await folderForTest(), 'front.keyway'),
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  onTestFinished(() => backend.close());
  expect(backend.settings().published).toMatchObject({ domain: 'tls.example', tls: { port: 443, path: null } });
});

/** Serves a revision in front of the server; calls have the server's token, or what is given as the `Authorization`. */
async function frontOf(standIn: StandIn, revision: string, clock = systemClock) {
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock,
    dataFolder: null,
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const app = await createGateway({
    mounts: [{ revision, webpath: 'panel' }],
    backend,
    clock,
    listener: { token: CREDENTIALS.token, username: 'admin', passwordHash: 'x' },
    loginGuard: 'off',
  });
  onTestFinished(() => app.close());
  return async (method: Method, path: string, payload?: object, authorization = `Bearer ${CREDENTIALS.token}`) => {
    const headers = { authorization };
    return (await app.inject({ method, url: `/panel/api${path}`, headers, ...(payload && { payload }) })).json();
  };
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

test.each([
  '0.2.84',
  'current',
  '0.4.0',
])('a mount of %s, whose audit list is open, asks for a credential in front of a server that asks for one', async (revision) => {
  const entry = { eventEn: 'a', eventRu: 'б', success: true };
  const refused = { ok: false, error: 'unauthorized' };
  const before = await frontOf(await standInOf('0.4.5', LOSES_NOTHING), revision);
  expect(await before('POST', '/audit', entry, '')).toEqual({ ok: true, data: true });
  expect(await before('GET', '/audit', undefined, '')).toMatchObject({ ok: true, data: [entry] });
  const standIn = await standInOf('0.4.6', LOSES_NOTHING);
  const ask = await frontOf(standIn, revision);
  for (const [method, payload] of [['GET'], ['POST', entry], ['DELETE']] as const)
    for (const authorization of ['', 'Bearer wrong'])
      expect(await ask(method, '/audit', payload, authorization), method).toEqual(refused);
  expect(await ask('POST', '/audit', entry)).toEqual({ ok: true, data: true });
  expect(await ask('GET', '/audit')).toMatchObject({ ok: true, data: [entry] });
  expect(await apiOf(standIn)('GET', '/audit')).toMatchObject({ ok: true, data: [entry] });
});

const PUBLISHED = `"domain": "started.example", "tls": { "enabled": true, "frontend": "nginx", "ws_path": "/way", "public_port": 8443 },
  "subscription": { "enabled": true, "path": "/started" }, "dns": { "enabled": true }, "mode"`;
const LATER_PUBLISHED = `"domain": "later.example", "subscription": { "enabled": true, "path": "/later" }, "dns": { "enabled": false }, "mode"`;

test('a status in front of 0.4.7 is that of the running server: neither the sums of an older list nor what its file says of later', async () => {
  const file = fileOf('0.4.7');
  const standIn = await standInOf('0.4.7', LOSES_NOTHING, file.replace('"mode"', PUBLISHED));
  let passed = 0;
  const clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() + passed };
  const ask = await frontOf(standIn, '0.4.7', clock);
  const own = apiOf(standIn);
  const expectTheSame = async () => {
    const [front, server] = [await ask('GET', '/server/status'), await own('GET', '/server/status')];
    expect({ ...front.data, uptime_seconds: 0 }).toEqual({ ...Object(server.data), uptime_seconds: 0 });
    return front.data;
  };
  const tls = { host: 'started.example', port: 8443, path: '/way' };
  const endpoint = {
    host: 'started.example',
    udp_port: 50_000,
    tls,
    subscription_prefix: '/started',
    dns_enabled: true,
  };
  expect(await expectTheSame()).toMatchObject({ bytes_up: 0, online_users: 0, endpoint });
  // The list that is known has none of this.
  standIn.count('alpha', { up: 7n, down: 11n, connections: 2n });
  standIn.count('beta', { up: 1n });
  passed += 1_000;
  expect(await expectTheSame()).toMatchObject({ online_users: 1, connections: 2, bytes_up: 8, bytes_down: 11 });
  // A change by the front is in the very next answer, before the server is asked again.
  await ask('POST', '/users/alpha/reset');
  await ask('DELETE', '/users/beta');
  expect(await expectTheSame()).toMatchObject({ total_users: 1, connections: 0, bytes_up: 0 });
  const later = file.replace('"mode"', LATER_PUBLISHED).replace(/"alpha", \{[^}]*\}/, '"alpha"');
  await ask('PUT', '/server/config', JSON.parse(later));
  passed += 1_000;
  expect(await expectTheSame()).toMatchObject({ endpoint });
  const { data: links } = await ask('GET', '/users/alpha/share');
  expect({ links }).toEqual({ links: (await own('GET', '/users/alpha/share')).data });
  await ask('DELETE', '/users/alpha');
  passed += 1_000;
  expect(await expectTheSame()).toMatchObject({ total_users: 0, endpoint });
});

test('the address of a status is that of its endpoint, or none', () => {
  for (const endpoint of [undefined, null, { host: 'a', udp_port: 0n }, { host: '', udp_port: 5n }])
    expect(endpointIn(endpoint === undefined ? {} : { endpoint })).toBeNull();
  const told = { host: 'a.example', udp_port: 65_535n };
  const bare = { host: 'a.example', port: 65_535, tls: null, subscriptionPrefix: null, ownDns: false };
  expect(endpointIn({ endpoint: told })).toEqual(bare);
  for (const prefix of ['', '/', 'sub', 5n])
    expect(endpointIn({ endpoint: { ...told, subscription_prefix: prefix } })).toEqual(bare);
  const tls = { host: '2001:db8::1', port: 443n, path: '/way' };
  expect(endpointIn({ endpoint: { ...told, tls } })).toMatchObject({
    tls: { host: '[2001:db8::1]', port: 443, path: '/way' },
  });
  expect(endpointIn({ endpoint: { ...told, host: '[::1]' } })).toMatchObject({ host: '[::1]' });
});

test('a server of a version that nobody knows is served as the last line, and its configuration is not changed', async () => {
  const standIn = await standInOf('0.4.99', LOSES_NOTHING);
  const logged: string[] = [];
  const say = (_: object, message: string) => void logged.push(message);
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock: systemClock,
    dataFolder: join(await folderForTest(), 'front.keyway'),
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn: say, error: say },
  });
  onTestFinished(() => backend.close());
  expect(logged.filter((message) => /--upstream-revision/.test(message))).toHaveLength(1);
  expect(await backend.problems()).toMatchObject([
    {
      problem: 'upstream_later',
      reason: expect.stringMatching(/version 0\.4\.99: .*--upstream-revision names a line$/),
    },
  ]);
  await createKey(backend, { accessKey: 'made', name: null, limitBytes: null });
  const refused = { code: 'configRefused', detail: expect.stringContaining('--upstream-revision') };
  await expect(backend.replaceRules([RULE])).rejects.toMatchObject(refused);
  await expect(backend.changeDns({ enabled: true })).rejects.toMatchObject(refused);
  await standIn.restart();
  expect(standIn.keys().map(({ accessKey }) => accessKey)).toContain('made');
});

test.each(
  someOf(['0.2.96', '0.4.6', '0.4.7'], 1),
)('the key named bulk, which no path of %s names, is read, changed and removed all the same', async (line) => {
  const standIn = await standInOf(line, LOSES_NOTHING);
  const own = apiOf(standIn);
  for (const [method, body] of [['GET'], ['PUT', { name: 'B' }], ['DELETE']] as const) {
    const authorization = `Bearer ${CREDENTIALS.token}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const url = `${standIn.origin}${standIn.paths.api}/users/bulk`;
    const { status } = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    expect([method, status]).toEqual([method, 405]);
  }
  const ask = await frontOf(standIn, 'current');
  const unknown = await ask('GET', '/users/no-such-key');
  expect(await ask('GET', '/users/bulk')).toEqual(unknown);
  expect(await ask('DELETE', '/users/bulk')).toEqual(await ask('DELETE', '/users/no-such-key'));
  expect(await ask('POST', '/users', { access_key: 'bulk', name: 'Bulk', limit_bytes: 5 })).toMatchObject({ ok: true });
  const shown = { access_key: 'bulk', name: 'Bulk', limit_bytes: 5 };
  expect((await ask('GET', '/users/bulk')).data).toMatchObject(shown);
  expect(await ask('PUT', '/users/bulk', { name: 'Other', limit_bytes: 7 })).toMatchObject({ ok: true });
  expect(await ask('PUT', '/users/bulk/limit', { limit_bytes: 9 })).toMatchObject({ ok: true });
  expect((await ask('GET', '/users/bulk')).data).toMatchObject({ name: 'Other', limit_bytes: 9 });
  expect((await own('GET', '/users')).data).toContainEqual(expect.objectContaining({ name: 'Other', limit_bytes: 9 }));
  expect(await ask('DELETE', '/users/bulk')).toMatchObject({ ok: true });
  const keys = () => keysOf(standIn);
  expect(keys()).toEqual(['alpha', 'beta']);
  await standIn.restart();
  expect(keys()).toEqual(['alpha', 'beta']);
  expect(await ask('GET', '/users/bulk')).toEqual(unknown);
});

test('the key named bulk of 0.3.21 is read and gets a limit, and a name or its removal is refused', async () => {
  const standIn = await standInOf('0.3.21', LOSES_NOTHING);
  const ask = await frontOf(standIn, 'current');
  expect(await ask('POST', '/users', { access_key: 'bulk' })).toMatchObject({ ok: true });
  expect(await ask('PUT', '/users/bulk/limit', { limit_bytes: 9 })).toMatchObject({ ok: true });
  const refused = {
    ok: false,
    error: expect.stringContaining('no path of the API of line 0.3.7 names the key "bulk"'),
  };
  expect(await ask('PUT', '/users/bulk', { name: 'Other' })).toEqual(refused);
  expect(await ask('DELETE', '/users/bulk')).toEqual(refused);
  expect((await ask('GET', '/users/bulk')).data).toMatchObject({ access_key: 'bulk', name: null, limit_bytes: 9 });
});
