import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCaller } from '../../src/client/caller.js';
import { machineTime, type Passed } from '../../src/shadow/traffic.js';
import { openLiveServer, PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME } from '../replay/live-server.js';
import { bytesOf, scriptedServer } from '../stand-in/scripted-server.js';
import { mirrored, second } from './mirrored.js';

const API = '/panel/api';

/** What a panel and a bot ask in a session. */
async function drive({ send }: Awaited<ReturnType<typeof mirrored>>): Promise<void> {
  await send('GET', `${API}/server/status`);
  await send('GET', `${API}/users`);
  await send('POST', `${API}/users`, { access_key: 'alpha', name: 'Alpha', limit_bytes: 5 });
  await send('POST', `${API}/users`, { name: 'nameless' });
  await send('POST', `${API}/users/bulk`, { count: 3, limit_bytes: 9 });
  await send('GET', `${API}/users/alpha`);
  await send('PUT', `${API}/users/alpha/limit`, { limit_bytes: 7 });
  await send('PUT', `${API}/users/alpha`, { name: 'Beta', limit_bytes: 8 });
  await send('POST', `${API}/users/foreign-1/reset`);
  await send('GET', `${API}/users/unknown`);
  await send('DELETE', `${API}/users/alpha`);
  await send('GET', `${API}/users`);
  await send('GET', `${API}/server/config`);
  await send('GET', `${API}/subscribe/foreign-2`, undefined, { accept: 'text/plain' });
  await send('GET', `${API}/subscribe/foreign-2`);
  await send('OPTIONS', `${API}/users`, undefined, {
    origin: 'https://panel.invalid',
    'access-control-request-method': 'GET',
  });
  await send('GET', `${API}/server/status`);
}

describe('an embedded core', () => {
  test('of the same line answers the same, whatever is made and changed', async () => {
    const target = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: { line: '0.2.96' } });
    await drive(shadow);
    expect(shadow.report().notes).toEqual([]);
    expect(shadow.report().differences).toEqual([]);
    expect(shadow.report().compared).toBe(17);
  });

  test('is asked for many keys at once by itself, and has those of the target then', async () => {
    const target = await startLiveServer('current');
    for (const [line, because] of [
      ['0.2.96', null],
      ['0.2.60', expect.stringMatching(/bulk/)],
    ] as const) {
      const shadow = await mirrored(target.origin, { shadow: { line } });
      await shadow.send('POST', `${API}/users/bulk`, { count: 3, limit_bytes: 9 });
      await shadow.send('GET', `${API}/users`);
      const ofBulk = shadow.report().differences.filter(({ operation }) => operation === 'bulkCreateUsers');
      expect(ofBulk).toMatchObject(because === null ? [] : [{ because }]);
      expect(shadow.unexplained()).toEqual([]);
      expect(shadow.report().compared).toBe(2);
    }
  });

  test('of a later line differs in what the lines explain alone', async () => {
    const target = await startLiveServer('0.2.48');
    const shadow = await mirrored(target.origin, { shadow: { line: '0.3.6' } }, null);
    const login = await fetch(`${shadow.url}${API}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: USERNAME, password: PASSWORD }),
    });
    const { data } = (await login.json()) as { data: { token: string } };
    const headers = { authorization: `Bearer ${data.token}` };
    for (const path of ['/server/status', '/users', '/users/foreign-2', '/dns/config', '/server/config'])
      await shadow.send('GET', `${API}${path}`, undefined, headers);
    await shadow.send('POST', `${API}/users`, { name: 'one' }, headers);
    await shadow.send('GET', `${API}/users`, undefined, headers);
    expect(shadow.unexplained()).toEqual([]);
    const explained = shadow.report().differences.map(({ operation, because }) => `${operation}: ${because}`);
    expect(explained).toContainEqual(expect.stringMatching(/^getDnsConfig: dns: /));
    expect(explained).toContainEqual(expect.stringMatching(/^listUsers: snapshot: /));
  });

  test('tells that a client with a static token is locked out by a line that takes sessions alone', async () => {
    const target = await startLiveServer('earliest');
    const shadow = await mirrored(target.origin, { shadow: { line: '0.2.48' } });
    await shadow.send('GET', '/api/users');
    const [difference] = shadow.report().differences;
    expect(difference).toMatchObject({ operation: 'listUsers', where: 'status', kind: 'reads' });
    expect(difference?.because).toMatch(/^auth: /);
  });
});

describe('a second server', () => {
  test('gets reads alone without --writes, and keys that changed are left out', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin) });
    const before = other.keys();
    await drive(shadow);
    expect(other.keys()).toEqual(before);
    expect(shadow.unexplained()).toEqual([]);
    const reasons = shadow.report().rows.flatMap(({ leftOut }) => Object.keys(leftOut));
    expect(reasons).toContain('a write, without --writes');
    expect(reasons).toContain('the key has changed since, which the shadow was not told');
  });

  test('with --writes has the same keys afterwards, also those that the target named', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    await drive(shadow);
    expect(shadow.unexplained()).toEqual([]);
    const bulk = shadow.report().rows.find(({ operation }) => operation === 'bulkCreateUsers');
    expect(bulk?.leftOut).toEqual({ 'its keys were made one by one, so that they are the same': 1 });
    const names = (keys: readonly string[]) => keys.map((each) => each.split(' ').slice(0, 3).join(' ')).sort();
    expect(names(other.keys())).toEqual(names(target.keys()));
  });

  test('whose keys differ is refused for --writes, and --prepare makes them equal', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    await fetch(`${other.origin}${API}/users/foreign-2`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const refused = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    expect(refused.failures).toMatchObject([{ name: 'ShadowRefused', message: expect.stringContaining('--prepare') }]);
    const prepared = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }), prepares: true });
    expect([...prepared.failures, ...prepared.report().notes]).toEqual([]);
    expect(other.keys()).toContainEqual(expect.stringMatching(/^foreign-2 Somebody 7 /));
  });

  test('is not held to a configuration that it was not told', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    const { dns: _, ...changed } = JSON.parse(SERVER_FILE);
    await shadow.send('PUT', `${API}/server/config`, { ...changed, log_level: 'debug' });
    for (const path of ['/server/config', '/router/rules', '/users/foreign-1']) await shadow.send('GET', API + path);
    expect(shadow.report()).toMatchObject({ differences: [], compared: 1 });
    const leftOut = shadow.report().rows.flatMap((row) => Object.keys(row.leftOut));
    expect(new Set(leftOut)).toEqual(
      new Set(['a write besides keys, without --destructive', 'it has changed since, which the shadow was not told']),
    );
  });

  test('of the layout with inbounds gets a configuration, and keeps its own addresses and credentials', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-inbounds-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const api = { protocol: 'api', listen: '127.0.0.1', token: TOKEN, webpath: 'panel' };
    const open = async (port: number) => {
      const configPath = join(folder, `${port}.json`);
      const inbounds = [
        { protocol: 'ostp', port, users: ['foreign-1'] },
        { ...api, port: port + 1 },
      ];
      await writeFile(configPath, JSON.stringify({ mode: 'server', inbounds, debug: false }));
      return { ...(await startLiveServer('0.3.21', {}, { configPath })), configPath };
    };
    const [target, other] = [await open(50_000), await open(40_000)];
    const asked = second(other.origin, { writes: true, destructive: true });
    const shadow = await mirrored(target.origin, { shadow: asked });
    const inbounds = [
      { protocol: 'ostp', port: 50_000, users: ['foreign-1', 'new'] },
      { ...api, port: 50_001 },
    ];
    await shadow.send('PUT', `${API}/server/config`, { mode: 'server', inbounds, debug: true });
    await shadow.send('GET', `${API}/server/config`);
    expect(shadow.report()).toMatchObject({ differences: [], compared: 2, notes: [] });
    expect(JSON.parse(await readFile(other.configPath, 'utf8'))).toMatchObject({
      debug: true,
      inbounds: [{ port: 40_000, users: ['foreign-1', 'new'] }, { port: 40_001 }],
    });
    await shadow.send('PUT', `${API}/server/config`, { mode: 'server', inbounds: inbounds.toReversed(), debug: true });
    const reason = 'a configuration of another layout, or with other inbounds, than the second server has';
    expect(shadow.report().rows.map(({ leftOut }) => leftOut[reason])).toContain(1);
  });

  test.each([
    ['never sees a credential of a client', false],
    ['sees the credentials of clients where that is asked for', true],
  ])('%s', async (_, forwardsCredentials) => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const behind = createCaller({ origin: other.origin, timeoutMilliseconds: 2_000 });
    onTestFinished(() => behind.close());
    const seen: string[] = [];
    const noting = await scriptedServer(async (request, response) => {
      const body = await bytesOf(request);
      const { method = '', url: path = '' } = request;
      seen.push(`${method} ${path} ${request.rawHeaders.join(' ')} ${body}`);
      const headers = new Map(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const answer = await behind.send({ method, path, headers, body: body.length === 0 ? undefined : body });
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(answer.body);
    });
    const credentials = { token: null, operator: { username: USERNAME, password: PASSWORD } };
    const asked = second(noting.origin, { writes: true, destructive: true });
    const shadow = await mirrored(target.origin, { shadow: { ...asked, credentials, forwardsCredentials } });
    await shadow.send('GET', `${API}/users`, undefined, { cookie: 'clients-cookie', 'x-api-key': 'clients-key' });
    await shadow.send('POST', `${API}/login`, { username: USERNAME, password: 'clients-password' });
    const given = JSON.parse(SERVER_FILE);
    const api = { ...given.api, token: 'clients-token' };
    await shadow.send('PUT', `${API}/server/config`, { ...given, api });
    expect(shadow.report().compared).toBe(2);
    const text = seen.join('\n');
    for (const secret of ['clients-cookie', 'clients-key', 'clients-password', 'clients-token'])
      expect(text).not.toContain(secret);
    expect(seen.some((each) => each.includes(`Bearer ${TOKEN}`))).toBe(forwardsCredentials);
  });

  test('a difference in its state counts once, and is made equal', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    await shadow.send('GET', `${API}/users/foreign-2`);
    await fetch(`${other.origin}${API}/users/foreign-2/limit`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"limit_bytes":1}',
    });
    for (const _ of [1, 2, 3]) await shadow.send('GET', `${API}/users/foreign-2`);
    await shadow.send('GET', `${API}/users`);
    expect(shadow.report().differences).toMatchObject([{ where: 'body /data/limit_bytes', times: 1 }]);
    expect(shadow.report().rows.find(({ operation }) => operation === 'getUser')).toMatchObject({
      seen: 4,
      different: 1,
    });
  });

  test('what a dropped write changed is looked for at once', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, {
      shadow: second(other.origin, { writes: true }),
      followEvery: 3_600_000,
    });
    await shadow.send('GET', `${API}/users`);
    await shadow.mirror.follow();
    await fetch(`${target.origin}${API}/users`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ access_key: 'unseen' }),
    });
    await shadow.mirror.follow();
    expect(other.keys()).not.toEqual(target.keys());
    shadow.mirror.lost('createUser', machineTime());
    await shadow.mirror.follow();
    expect(other.keys()).toEqual(target.keys());
  });

  test('what changed at the target past the proxy is followed and not counted', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }), followEvery: 0 });
    await fetch(`${target.origin}${API}/users/foreign-2`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    await shadow.mirror.follow();
    await shadow.send('GET', `${API}/users`);
    expect(shadow.report().differences).toEqual([]);
    expect(other.keys()).toHaveLength(1);
  });
});

test('a HEAD is the same at an embedded core, without a body', async () => {
  const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
  const shadow = await mirrored(target.origin, { shadow: { line: '0.2.96' } });
  for (const path of ['/users', '/users/foreign-1']) await shadow.send('HEAD', API + path);
  expect(shadow.report()).toMatchObject({ compared: 2, differences: [] });
});

describe('two writes of one key that overlapped', () => {
  const passed = (method: string, path: string, beside: Passed['beside']): Passed => ({
    sequence: 1,
    client: '127.0.0.1 node',
    method,
    path: API + path,
    requestHeaders: new Map([['authorization', `Bearer ${TOKEN}`]]),
    requestBody: Buffer.alloc(0),
    status: 200,
    responseHeaders: new Map([['content-type', 'application/json']]),
    responseBody: Buffer.from('{"ok":true,"data":true}'),
    startedAt: machineTime(),
    beside,
  });

  test('leave out what passed before both were held together, also where both say the same by then', async () => {
    const target = await startLiveServer('current');
    const { mirror, report } = await mirrored(target.origin, { shadow: { line: 'current' } });
    const removal = passed('DELETE', '/users/fleeting', { keys: ['fleeting'], subjects: [] });
    const reset = passed('POST', '/users/fleeting/reset', { keys: [], subjects: [] });
    // The key was there when the target answered both, and is gone at both when they are taken.
    for (const each of [removal, reset]) await mirror.take(each);
    expect(report().differences).toEqual([]);
    expect(report().rows.map(({ leftOut }) => leftOut)).toEqual([
      { 'two writes of the same overlapped': 1 },
      { 'the key was made equal meanwhile': 1 },
    ]);
  });

  test('differ in nothing that counts where a key was made meanwhile that nobody could name yet', async () => {
    const target = await startLiveServer('current');
    const { mirror, report } = await mirrored(target.origin, { shadow: { line: 'current' } });
    const making = { keys: [], subjects: ['keys' as const] };
    const answer = await fetch(`${target.origin}${API}/users/foreign-1/reset`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const responseBody = Buffer.from(await answer.arrayBuffer());
    const answered = { responseHeaders: new Map(answer.headers), responseBody };
    // The target had made the one, and not answered yet.
    for (const key of ['fleeting', 'foreign-1'])
      await mirror.take({ ...passed('POST', `/users/${key}/reset`, making), ...answered });
    expect(report()).toMatchObject({ differences: [], compared: 1 });
    expect(report().rows).toMatchObject([{ equal: 1, leftOut: { 'two writes of the same overlapped': 1 } }]);
  });
});

describe('a list above 1 MiB', () => {
  test('is held together key by key, and what differs is made equal', async () => {
    const target = await startLiveServer('current');
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    for (const _ of Array.from({ length: 8 }))
      await fetch(`${target.origin}${API}/users/bulk`, { method: 'POST', headers, body: '{"count":1000}' });
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } });
    await shadow.send('GET', `${API}/users`);
    expect(shadow.report().differences).toEqual([]);
    await fetch(`${target.origin}${API}/users/foreign-2/limit`, { method: 'PUT', headers, body: '{"limit_bytes":8}' });
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/users`);
    expect(shadow.report().compared).toBe(3);
    expect(shadow.report().differences).toMatchObject([{ where: 'body /data/*/limit_bytes', times: 1 }]);
  });
});

describe('an update in the middle', () => {
  test('of the target begins the shadow anew', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.90' });
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } });
    await shadow.send('GET', `${API}/server/status`);
    const { port } = new URL(target.origin);
    await target.close();
    const again = await openLiveServer('current', {}, { reportVersion: '0.2.96' }, Number(port));
    onTestFinished(again.close);
    for (const _ of [1, 2, 3]) await shadow.send('GET', `${API}/server/status`);
    expect(shadow.report().notes).toEqual([
      'the target was of version 0.2.90, and is of 0.2.96: the shadow begins anew',
    ]);
    expect(shadow.report()).toMatchObject({ compared: 2, target: { version: '0.2.96' }, differences: [] });
  });
});

describe('credentials', () => {
  test('without a token the first one of a client that the target accepts is gone by', async () => {
    const target = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } }, null);
    await shadow.send('GET', `${API}/users`, undefined, { authorization: 'Bearer wrong' });
    expect(shadow.report()).toMatchObject({ compared: 0, shadow: null });
    await shadow.send('GET', `${API}/users`);
    await shadow.send('GET', `${API}/users`);
    expect(shadow.report()).toMatchObject({ compared: 1, differences: [] });
  });

  test('nothing secret is in the report', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('0.2.60')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    await drive(shadow);
    const text = JSON.stringify(shadow.report());
    for (const secret of [TOKEN, USERNAME, PASSWORD, 'foreign-1', 'foreign-2', 'Somebody', 'nameless'])
      expect(text).not.toContain(secret);
  });
});
