import { request as httpRequest } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { machineTime } from '../../src/shadow/traffic.js';
import { openLiveServer, SERVER_FILE, startLiveServer, TOKEN } from '../replay/live-server.js';
import { bytesOf, scriptedServer } from '../stand-in/scripted-server.js';
import { mirrored, second } from './mirrored.js';

const API = '/panel/api';
const authorization = `Bearer ${TOKEN}`;
const JSON_HEADERS = { authorization, 'content-type': 'application/json' };

async function change(origin: string, method: string, path: string, body?: unknown): Promise<number> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  return (await fetch(origin + path, { method, headers: JSON_HEADERS, ...content })).status;
}

/** A clock that goes on by ten seconds with each look. */
function hastyClock() {
  let looks = 0;
  const look = () => {
    looks += 1;
    return looks * 10_000;
  };
  return { now: look, monotonic: look };
}

/** A server that shows what another has, and takes no change. */
async function deafTo(origin: string): Promise<string> {
  const { origin: deaf } = await scriptedServer(async ({ method = 'GET', url: path = '' }, response) => {
    const answer = method === 'GET' ? await fetch(origin + path, { headers: JSON_HEADERS }) : null;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answer === null ? '{"ok":true,"data":true}' : await answer.text());
  });
  return deaf;
}

/** Stands before a server; `before` is awaited before a request goes on, and tells which status is answered instead of the server's, or that nothing is. */
async function inFrontOf(origin: string, before: (method: string, path: string) => Promise<number | 'away' | null>) {
  const { port } = new URL(origin);
  const { origin: front } = await scriptedServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const body = await bytesOf(request);
    const instead = await before(method, path);
    if (instead === 'away') {
      request.socket.destroy();
      return;
    }
    const asked = httpRequest({ port, method, path, headers }, (answer) => {
      const { 'content-length': _, ...kept } = answer.headers;
      response.writeHead(instead ?? answer.statusCode ?? 0, kept);
      answer.pipe(response);
    });
    asked.on('error', () => request.socket.destroy());
    asked.end(body);
  });
  return front;
}

describe('a change at the target that the shadow is not sent', () => {
  test('is found before the next read: by a write that the target does although it fails', async () => {
    const target = await startLiveServer('current');
    const origin = await inFrontOf(target.origin, async (method) => (method === 'PUT' ? 500 : null));
    const shadow = await mirrored(origin, { shadow: { line: 'current' } });
    await shadow.send('PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 3 });
    for (const path of ['/users/foreign-2', '/users']) await shadow.send('GET', API + path);
    expect(shadow.report()).toMatchObject({ compared: 2, differences: [] });
  });

  test('is found before the next read: by another interface of the target', async () => {
    const target = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } });
    await shadow.send('GET', `${API}/users`);
    await shadow.send('PATCH', '/panel/keyway/v1/keys/foreign-2', { limit_bytes: 3 });
    expect(target.keys()).toContainEqual(expect.stringMatching(/^foreign-2 Somebody 3 /));
    for (const path of ['/users/foreign-2', '/users', '/users/foreign-2']) await shadow.send('GET', API + path);
    expect(shadow.report()).toMatchObject({ compared: 3, differences: [] });
  });

  test('is found before the next read: by a write of which nothing came here', async () => {
    const target = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } });
    await shadow.send('GET', `${API}/users`);
    await change(target.origin, 'DELETE', `${API}/users/foreign-2`);
    shadow.mirror.lost('deleteUser', machineTime());
    for (const path of ['/users/foreign-2', '/users', '/users/foreign-2']) await shadow.send('GET', API + path);
    expect(shadow.report()).toMatchObject({ compared: 3, differences: [] });
    const leftOut = shadow.report().rows.map((row) => Object.keys(row.leftOut));
    expect(leftOut.flat()).toEqual(['the key was made equal meanwhile']);
  });

  test('leaves out what shows keys until they can be read', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const how = { isAway: false };
    const origin = await inFrontOf(other.origin, async (_, path) =>
      how.isAway && path.endsWith('/users') ? 'away' : null,
    );
    const shadow = await mirrored(target.origin, { shadow: second(origin, { writes: true }) });
    await shadow.send('GET', `${API}/users/foreign-2`);
    how.isAway = true;
    await change(target.origin, 'PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 3 });
    shadow.mirror.lost('setLimit', machineTime());
    await shadow.send('GET', `${API}/users/foreign-2`);
    expect(shadow.report()).toMatchObject({ compared: 1, differences: [] });
    const [row] = shadow.report().rows;
    expect(row?.leftOut).toEqual({ 'a write passed unseen, and keys were not read since': 1 });
  });

  test('does not leave out a shadow that answers no list of keys any more', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const how = { isBroken: false };
    const origin = await inFrontOf(other.origin, async (_, path) =>
      how.isBroken && path.endsWith('/users') ? 503 : null,
    );
    const shadow = await mirrored(target.origin, { shadow: second(origin, { writes: true }) });
    await shadow.send('GET', `${API}/users`);
    how.isBroken = true;
    shadow.mirror.lost('setLimit', machineTime());
    for (const path of ['/users', '/users', '/users/foreign-2']) await shadow.send('GET', API + path);
    expect(shadow.report().compared).toBe(4);
    expect(shadow.report().differences).toMatchObject([{ operation: 'listUsers', where: 'status', times: 2 }]);
  });

  test('is found before the next read: by a write while the shadow was away', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const how = { isAway: false };
    const origin = await inFrontOf(other.origin, async () => (how.isAway ? 'away' : null));
    const shadow = await mirrored(target.origin, { shadow: second(origin, { writes: true }), clock: hastyClock() });
    await shadow.send('GET', `${API}/users/foreign-2`);
    how.isAway = true;
    await shadow.send('PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 3 });
    await shadow.send('GET', `${API}/users/foreign-2`);
    how.isAway = false;
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/users/foreign-2`);
    expect(shadow.report()).toMatchObject({ compared: 2, differences: [] });
  });

  test('is none where a look has copied a key before its create was taken: a key that exists may be made again', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const asked = second(other.origin, { writes: true });
    for (const shadow of [{ line: 'current' }, asked]) {
      const { mirror, report } = await mirrored(target.origin, { shadow, followEvery: 0, prepares: true });
      const [startedAt, body] = [machineTime(), JSON.stringify({ name: 'waits' })];
      const made = await fetch(`${target.origin}${API}/users`, { method: 'POST', headers: JSON_HEADERS, body });
      const responseBody = Buffer.from(await made.arrayBuffer());
      await mirror.follow();
      await mirror.take({
        ...{ sequence: 1, client: '127.0.0.1 node', method: 'POST', path: `${API}/users` },
        ...{ requestHeaders: new Map(Object.entries(JSON_HEADERS)), requestBody: Buffer.from(body) },
        ...{ status: made.status, responseHeaders: new Map(made.headers), responseBody },
        ...{ startedAt, beside: { keys: [], subjects: [] } },
      });
      expect(report()).toMatchObject({ differences: [], compared: 1 });
    }
  });

  test('is left out where it came before the shadow could begin', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const how = { isAway: true };
    const origin = await inFrontOf(other.origin, async () => (how.isAway ? 'away' : null));
    const asked = second(origin, { writes: true, destructive: true });
    const shadow = await mirrored(target.origin, { shadow: asked, clock: hastyClock() });
    await shadow.send('PUT', `${API}/router/rules`, [{ domain_suffix: ['.example'], action: 'block' }]);
    how.isAway = false;
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/router/rules`);
    expect(shadow.report().rows).toMatchObject([
      {
        operation: 'getRules',
        different: 0,
        leftOut: {
          'it passed while the shadow began': 1,
          'it has changed since, which the shadow was not told': 1,
        },
      },
      { operation: 'putRules', leftOut: { 'the shadow has not begun': 1 } },
    ]);
  });

  test('is left out where it came while the shadow was opened', async () => {
    const target = await startLiveServer('current');
    const how: { isAway: boolean; opening: () => Promise<void> } = { isAway: true, opening: async () => undefined };
    const origin = await inFrontOf(target.origin, async (_method, path) => {
      if (how.isAway && path !== `${API}/router/rules`) return 'away';
      if (path === `${API}/users`) await how.opening();
      return null;
    });
    const shadow = await mirrored(origin, { shadow: { line: 'current' }, clock: hastyClock() });
    how.isAway = false;
    // A configuration is read before the keys.
    how.opening = async () => {
      how.opening = async () => undefined;
      const rules = [{ domain_suffix: ['.example'], action: 'block' }];
      expect(await change(target.origin, 'PUT', `${API}/router/rules`, rules)).toBe(200);
      shadow.mirror.lost('putRules', machineTime());
    };
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/router/rules`);
    const leftOut = {
      'it passed while the shadow began': 1,
      'it has changed since, which the shadow was not told': 1,
    };
    expect(shadow.report().rows).toMatchObject([{ operation: 'getRules', different: 0, leftOut }]);
  });

  test('is over once rules that the shadow was not told are replaced at both', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const how = { isAway: false };
    const origin = await inFrontOf(other.origin, async () => (how.isAway ? 'away' : null));
    const asked = second(origin, { writes: true, destructive: true });
    const shadow = await mirrored(target.origin, { shadow: asked, clock: hastyClock() });
    const rules = (suffix: string) => [{ domain_suffix: [suffix], action: 'block' }];
    const read = () => shadow.report().rows.filter(({ operation }) => operation === 'getRules');
    how.isAway = true;
    await shadow.send('PUT', `${API}/router/rules`, rules('.one.example'));
    how.isAway = false;
    await shadow.send('GET', `${API}/router/rules`);
    await shadow.send('PUT', `${API}/router/rules`, rules('.two.example'));
    await shadow.send('GET', `${API}/router/rules`);
    expect(shadow.report().differences).toEqual([]);
    const leftOut = { 'it has changed since, which the shadow was not told': 1 };
    expect(read()).toMatchObject([{ seen: 2, equal: 1, leftOut }]);
  });

  test('is not over with rules that were replaced at both before, and taken after it was known', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const how: { arrived: () => void; held: Promise<void> | null } = { arrived: () => undefined, held: null };
    const origin = await inFrontOf(other.origin, async (method) => {
      if (method !== 'PUT' || how.held === null) return null;
      how.arrived();
      await how.held;
      return null;
    });
    const asked = second(origin, { writes: true, destructive: true });
    const shadow = await mirrored(target.origin, { shadow: asked });
    await shadow.send('GET', `${API}/router/rules`);
    const rules = (suffix: string) => [{ domain_suffix: [suffix], action: 'block' }];
    let release: () => void = () => undefined;
    how.held = new Promise((resolve) => {
      release = resolve;
    });
    const arrival = new Promise<void>((resolve) => {
      how.arrived = resolve;
    });
    await change(shadow.url, 'PUT', `${API}/router/rules`, rules('.one.example'));
    await arrival;
    await change(target.origin, 'PUT', `${API}/router/rules`, rules('.two.example'));
    shadow.mirror.lost('putRules', machineTime());
    release();
    await shadow.settled();
    await shadow.send('GET', `${API}/router/rules`);
    await shadow.send('PUT', `${API}/router/rules`, rules('.three.example'));
    await shadow.send('GET', `${API}/router/rules`);
    expect(shadow.report().differences).toEqual([]);
    const leftOut = { 'it has changed since, which the shadow was not told': 1 };
    expect(shadow.report().rows.find(({ operation }) => operation === 'getRules')).toMatchObject({ equal: 2, leftOut });
  });

  test('of which one is a drawing does not leave out the status', async () => {
    const [target, other] = [await startLiveServer('0.4.6'), await startLiveServer('0.4.6')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    await shadow.send('POST', `${API}/qr`, { text: 'anything' });
    await shadow.send('GET', `${API}/server/status`);
    expect(shadow.report()).toMatchObject({ compared: 1, differences: [] });
  });
});

describe('a key that differs at a second server', () => {
  test('counts once where nothing may be written there', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, { shadow: second(other.origin) });
    await shadow.send('GET', `${API}/users/foreign-2`);
    await change(other.origin, 'PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 1 });
    for (const path of ['/users/foreign-2', '/users', '/users/foreign-2']) await shadow.send('GET', API + path);
    expect(shadow.report().differences).toMatchObject([{ operation: 'getUser', times: 1 }]);
    expect(shadow.report().compared).toBe(3);
  });

  test('counts once where it refuses to be made equal', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = await mirrored(target.origin, {
      shadow: second(await inFrontOf(other.origin, async (method) => (method === 'PUT' ? 400 : null)), {
        writes: true,
      }),
    });
    await shadow.send('GET', `${API}/users/foreign-2`);
    await change(target.origin, 'PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 1 });
    await change(other.origin, 'DELETE', `${API}/users/foreign-1`);
    for (const _ of [1, 2, 3]) await shadow.send('GET', `${API}/users`);
    expect(shadow.report().notes).toEqual([
      'a key that differs could not be made equal: the shadow answers 400 to a PUT',
    ]);
    expect(shadow.report().differences.map(({ where, times }) => `${where} ${times}`)).toContain(
      'body /data/*/limit_bytes 1',
    );
    expect(shadow.report().rows).toMatchObject([{ operation: 'listUsers', different: 1, equal: 2 }, { equal: 1 }]);
  });

  test('is told by its digest, and how it differs, where writes are refused for it', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    await change(other.origin, 'PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 8 });
    await change(other.origin, 'DELETE', `${API}/users/foreign-1`);
    await change(other.origin, 'POST', `${API}/users`, { access_key: 'theirs' });
    const { failures } = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    expect(failures).toMatchObject([
      {
        name: 'ShadowRefused',
        message: "3 of its keys differ from the target's: give --prepare to make them equal, or leave --writes out",
        details: [
          expect.stringMatching(/^key [0-9a-f]{8}: missing$/),
          expect.stringMatching(/^key [0-9a-f]{8}: its limit is 8, and 7 at the target$/),
          expect.stringMatching(/^key [0-9a-f]{8}: not at the target$/),
        ],
      },
    ]);
  });

  test('is made equal by --prepare also while clients go on making keys', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    let made = 0;
    const origin = await inFrontOf(target.origin, async (method, path) => {
      made += 1;
      if (method === 'GET' && path.endsWith('/users'))
        await change(target.origin, 'POST', `${API}/users`, { access_key: `made-${made}` });
      return null;
    });
    const asked = second(other.origin, { writes: true });
    const shadow = await mirrored(origin, { shadow: asked, prepares: true });
    expect([...shadow.failures, ...shadow.report().notes]).toEqual([]);
    expect(shadow.report().shadow).not.toBeNull();
  });

  test('refuses --prepare where it cannot be made equal', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    await change(other.origin, 'PUT', `${API}/users/foreign-2/limit`, { limit_bytes: 8 });
    const asked = second(await deafTo(other.origin), { writes: true });
    const { failures } = await mirrored(target.origin, { shadow: asked, prepares: true });
    expect(failures).toMatchObject([{ message: expect.stringContaining('--prepare: 1 of its keys') }]);
  });
});

describe('an update in the middle', () => {
  const update = async (target: { origin: string; close: () => Promise<void> }) => {
    await target.close();
    const { port } = new URL(target.origin);
    const again = await openLiveServer('current', {}, { reportVersion: '0.2.96' }, Number(port));
    onTestFinished(again.close);
    return again;
  };

  test('is noticed also where no client asks for the status', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.90' });
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' }, followEvery: 0 });
    await update(target);
    await shadow.mirror.follow();
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/users`);
    expect(shadow.report().notes).toEqual([
      'the target was of version 0.2.90, and is of 0.2.96: the shadow begins anew',
    ]);
    expect(shadow.report()).toMatchObject({ compared: 1, target: { version: '0.2.96' }, differences: [] });
  });

  test('does not end a run with --writes for the keys that clients have made meanwhile', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.90' });
    const other = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    const again = await update(target);
    await change(again.origin, 'POST', `${API}/users`, { access_key: 'meanwhile' });
    for (const _ of [1, 2, 3]) await shadow.send('GET', `${API}/server/status`);
    await shadow.send('GET', `${API}/users`);
    expect(shadow.failures).toEqual([]);
    expect(shadow.report()).toMatchObject({ compared: 2, differences: [] });
    expect(other.keys()).toEqual(again.keys());
  });

  test('does not end a run with --writes where the second server refuses to be made equal again', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.90' });
    const other = await startLiveServer('current');
    const asked = second(await deafTo(other.origin), { writes: true });
    const shadow = await mirrored(target.origin, { shadow: asked });
    const again = await update(target);
    await change(again.origin, 'POST', `${API}/users`, { access_key: 'meanwhile' });
    for (const _ of [1, 2, 3]) await shadow.send('GET', `${API}/server/status`);
    expect(shadow.failures).toEqual([]);
    expect(shadow.report().notes.at(-1)).toBe(
      "the shadow could not begin: --prepare: 1 of its keys differ from the target's all the same",
    );
  });

  test('leaves out what a second server was never told also afterwards', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.90' });
    const other = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: second(other.origin, { writes: true }) });
    const rules = [{ domain_suffix: ['.example'], action: 'block' }];
    await shadow.send('PUT', `${API}/server/config`, { ...JSON.parse(SERVER_FILE), log_level: 'debug' });
    const again = await update(target);
    await change(again.origin, 'PUT', `${API}/server/config`, {
      ...JSON.parse(SERVER_FILE),
      log_level: 'debug',
      rules,
    });
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/server/status`);
    await shadow.send('GET', `${API}/server/config`);
    expect(shadow.report()).toMatchObject({ differences: [], target: { version: '0.2.96' } });
  });

  test('that no version tells is noticed by the uptime', async () => {
    const how = { uptime: 1_000_000 };
    const target = await startLiveServer('current');
    const { origin } = await scriptedServer(async (request, response) => {
      const answer = await fetch(target.origin + request.url, { headers: JSON_HEADERS });
      const text = await answer.text();
      const kept = { 'content-type': 'application/json', 'access-control-allow-origin': '*' };
      response.writeHead(answer.status, kept);
      response.end(text.replace(/"uptime_seconds":\d+/, `"uptime_seconds":${how.uptime}`));
    });
    await target.app.keyway.core.audit.add({ eventEn: 'Sign-in', eventRu: 'Вход', success: true });
    const shadow = await mirrored(origin, { shadow: { line: 'current' } });
    await shadow.send('GET', `${API}/server/status`);
    await shadow.send('GET', `${API}/audit`);
    await target.app.keyway.core.audit.clear();
    how.uptime = 2;
    for (const _ of [1, 2]) await shadow.send('GET', `${API}/server/status`);
    await shadow.send('GET', `${API}/audit`);
    expect(shadow.report().notes).toEqual(['the target was started again: the shadow begins anew']);
    expect(shadow.report()).toMatchObject({ compared: 3, differences: [] });
  });
});
