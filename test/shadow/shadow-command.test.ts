import { readdir, readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readScenario } from '../../src/replay/format/scenario.js';
import type { ShadowReport } from '../../src/shadow/tally.js';
import { buildIfOlder } from '../build.js';
import { runKeyway } from '../commands/process.js';
import { openRaw } from '../raw-client.js';
import { openLiveServer, startLiveServer, TOKEN } from '../replay/live-server.js';
import { bodyOf, scriptedServer, startScriptedServer } from '../stand-in/scripted-server.js';
import { API, authorization, emptyFolder, hasBegun, LISTEN, shadowed, WAITED } from './shadowed.js';

beforeAll(buildIfOlder, 240_000);

describe('keyway shadow', () => {
  test('tries a later line beside a server and ends with what the lines explain alone', async () => {
    const target = await startLiveServer('0.2.60');
    const flags = ['--target', target.origin, ...LISTEN, '--to', '0.3.6', '--token', TOKEN];
    const { get, report, running } = await shadowed(flags);
    await report(hasBegun);
    for (const path of ['/server/status', '/users', '/users/foreign-1', '/dns/config']) {
      const direct = await fetch(`${target.origin}${API}${path}`, { headers: { authorization } });
      const [through, alone] = [await get(API + path), await direct.text()];
      // The uptime may go on between the two.
      expect(through.replace(/"uptime_seconds":\d+/, '')).toBe(alone.replace(/"uptime_seconds":\d+/, ''));
    }
    await report(({ compared }) => compared === 4);
    running.child.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.output).toContain('compatible as far as seen: 4 of');
    expect(ended.output).toMatch(/Changes from 0\.2\.\d+ to 0\.3\.\d+, which the lines or the register explain:/);
    expect(ended.output).toContain('getDnsConfig not served   (dns: ');
    expect(ended.code).toBe(0);
  });

  test('--fail-on reads fails for what the lines explain, too', async () => {
    const target = await startLiveServer('0.2.60');
    const flags = ['--target', target.origin, ...LISTEN, '--to', '0.3.6', '--token', TOKEN];
    const { get, report, running } = await shadowed([...flags, '--fail-on', 'reads', '--until', '1']);
    await report(hasBegun);
    await get(`${API}/dns/config`);
    expect((await running.ended).code).toBe(1);
  });

  test('a second server whose keys differ is read, and these are left out', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    await fetch(`${other.origin}${API}/users/foreign-2/limit`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"limit_bytes":8}',
    });
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', other.origin, '--until', '1'];
    const environment = { KEYWAY_TOKEN: TOKEN, KEYWAY_SHADOW_TOKEN: TOKEN };
    const { get, report, running, folder } = await shadowed(flags, environment);
    await report(hasBegun);
    await get(`${API}/server/status`);
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    const status = await runKeyway(['shadow', '--status', '--reporter', 'json'], { folder });
    expect(JSON.parse(status.output).scenarios).toMatchObject([{ name: 'getStatus', outcome: 'equal' }]);
    expect(status.complaints).toMatch(/^the run ended at /);
    const note = await readFile(join(folder, 'keyway-shadow.json'), 'utf8');
    expect(note).toContain('1 of its keys differ');
  });

  test('what differs is told with an example and saved as a scenario', async () => {
    const target = await startLiveServer('current');
    const other = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const answers = await scriptedServer(async (request, response) => {
      const { method = 'GET', url = '/', headers } = request;
      const body = method === 'GET' ? {} : { body: Buffer.concat(await request.toArray()) };
      const answer = await fetch(other.origin + url, {
        method,
        headers: { authorization: headers.authorization ?? '' },
        ...body,
      });
      const text = await answer.text();
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(url.endsWith('/users/foreign-2') ? text.replace('"limit_bytes":7', '"limit_bytes":"7"') : text);
    });
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', answers.origin, '--save', 'saved', '--until', '1'];
    const { get, report, running, folder } = await shadowed(flags, {
      KEYWAY_TOKEN: TOKEN,
      KEYWAY_SHADOW_TOKEN: TOKEN,
    });
    await report(hasBegun);
    // A second server that is slow to answer may leave the first request out.
    await vi.waitFor(async () => {
      await get(`${API}/users/foreign-2`);
      await report(({ compared }) => compared > 0, 5_000);
    }, WAITED);
    const ended = await running.ended;
    expect(ended.code).toBe(1);
    expect(ended.output).toMatch(/DIFFERENT getUser/);
    const [name = '', ...others] = await readdir(join(folder, 'saved'));
    expect(others).toEqual([]);
    const scenario = readScenario(await readFile(join(folder, 'saved', name), 'utf8'), name);
    expect(scenario.exchanges).toMatchObject([{ operation: 'getUser' }]);
    expect(await runKeyway(['replay', 'saved'], { folder })).toMatchObject({ code: 0 });
  });

  test('--status prints the report of the one that runs, also after SIGKILL', async () => {
    const target = await startLiveServer('current');
    const flags = ['--target', target.origin, ...LISTEN, '--to', '0.2.96', '--token', TOKEN];
    const { get, report, running, folder } = await shadowed(flags);
    await report(hasBegun);
    await get(`${API}/users`);
    await report(({ compared }) => compared === 1);
    const status = () => runKeyway(['shadow', '--status'], { folder });
    expect((await status()).output).toMatch(/^as of \d{4}-.*Z, \d+ s ago/);
    running.child.kill('SIGKILL');
    await running.ended;
    const { output, code } = await status();
    expect(output).toContain('1 requests, 1 compared');
    expect(code).toBe(0);
    expect((await readdir(folder)).filter((name) => name.startsWith('keyway-shadow.json.'))).toEqual([]);
  });

  test('--ops-bind answers the report and its counts', async () => {
    const target = await startLiveServer('current');
    const flags = ['--target', target.origin, ...LISTEN, '--to', 'current', '--token', TOKEN];
    const port = String(21_000 + (process.pid % 20_000));
    const { get, report } = await shadowed([...flags, '--ops-bind', `127.0.0.1:${port}`]);
    await report(hasBegun);
    await get(`${API}/users`);
    await report(({ compared }) => compared === 1);
    const answer = await fetch(`http://127.0.0.1:${port}/report`);
    expect(await answer.json()).toMatchObject({ version: 1, requests: 1 });
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('keyway_shadow_requests_total{outcome="equal"} 1');
  });

  test('a wrong command line is told at once, each thing by its flag', async () => {
    const folder = await emptyFolder();
    const ended = await runKeyway(['shadow', '--target', 'nonsense', '--writes', '--to', '0.9', '--for', '3'], {
      folder,
    });
    expect(ended.code).toBe(2);
    for (const flag of ['--target', '--listen', '--writes', '--to', '--for']) expect(ended.complaints).toContain(flag);
  });
});

/** A second server, whose answers go through as they are until one is `bad`. */
async function turningBad(origin: string) {
  const how: { bad: ((socket: Socket, forward: () => void) => void) | null } = { bad: null };
  const { port } = new URL(origin);
  const { origin: shadow } = await scriptedServer((request, response) => {
    const forward = (edit: (text: string) => string = (text) => text) => {
      const { method, url, headers } = request;
      const asked = httpRequest({ port, method, path: url, headers }, async (answer) => {
        const text = edit(await bodyOf(answer));
        const kept = { ...answer.headers, 'content-length': String(Buffer.byteLength(text)) };
        response.writeHead(answer.statusCode ?? 0, kept).end(text);
      });
      asked.on('error', () => request.socket.destroy());
      request.pipe(asked);
    };
    if (how.bad === null) forward();
    else how.bad(request.socket, () => forward((text) => text.replace('"version":"0.2.96"', '"version":"0.2.90"')));
  });
  return { how, origin: shadow };
}

describe('a client is never touched', () => {
  const BAD: Readonly<Record<string, (socket: Socket, forward: () => void) => void>> = {
    'resets each connection': (socket) => socket.resetAndDestroy(),
    'answers 101': (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    'drips its answer': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n{'),
    'answers 200 with a page': (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>'),
    'says a wrong length': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"ok":true}'),
    redirects: (socket) =>
      socket.end('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'),
    hangs: () => undefined,
    'becomes another version': (_socket, forward) => forward(),
  };

  test('by a shadow that goes wrong in whichever way, which is compared again once it is right', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const other = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const shadow = await turningBad(other.origin);
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', shadow.origin, '--timeout', '0.5'];
    const { get, report, running } = await shadowed(flags, { KEYWAY_TOKEN: TOKEN, KEYWAY_SHADOW_TOKEN: TOKEN });
    await report(hasBegun);
    const direct = await (await fetch(`${target.origin}${API}/users`, { headers: { authorization } })).text();
    let sent = 0;
    const ask = async () => {
      const answers = await Promise.all([get(`${API}/users`), get(`${API}/users`), get(`${API}/server/status`)]);
      sent += answers.length;
      expect(answers.slice(0, 2)).toEqual([direct, direct]);
      return report(({ requests }) => requests === sent);
    };
    for (const bad of Object.values(BAD)) {
      shadow.how.bad = bad;
      await ask();
    }
    shadow.how.bad = null;
    const before = (await ask()).compared;
    // It begins anew, in the meantime.
    await vi.waitFor(async () => expect((await ask()).compared).toBeGreaterThan(before), WAITED);
    const { notes, differences } = await report(() => true);
    expect(notes).toContainEqual(expect.stringContaining('the shadow was of version 0.2.96, and is of 0.2.90'));
    const places = differences.map(({ operation, where }) => `${operation} ${where}`);
    expect(places).toContain('listUsers status');
    running.child.kill('SIGTERM');
    const ended = await running.ended;
    expect(ended.complaints).not.toContain('    at ');
    expect(ended.code).toBe(1);
  });

  test('by a shadow that never answers', async () => {
    const target = await startLiveServer('current');
    const shadow = await scriptedServer(() => undefined);
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', shadow.origin, '--timeout', '0.5'];
    const { get, report, running } = await shadowed(flags, { KEYWAY_TOKEN: TOKEN, KEYWAY_SHADOW_TOKEN: 'x' });
    const direct = await (await fetch(`${target.origin}${API}/users`, { headers: { authorization } })).text();
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(`${API}/users`)));
    expect(new Set(answers)).toEqual(new Set([direct]));
    await report(({ requests }) => requests > 0);
    running.child.kill('SIGTERM');
    const ended = await running.ended;
    expect(ended.complaints).not.toContain('    at ');
    expect([2, 3]).toContain(ended.code);
  });

  test('who pipelines, half-closes, leaves early or comes with a thousand others, and SIGTERM writes what was seen', async () => {
    const target = await startLiveServer('current');
    const flags = ['--target', target.origin, ...LISTEN, '--to', 'current', '--token', TOKEN];
    const { url, report, running, folder } = await shadowed(flags);
    await report(hasBegun);
    const port = Number(new URL(url).port);
    const head = (method: string, path: string) =>
      `${method} ${API}${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n`;
    const one = (path: string) => `${head('GET', path)}\r\n`;

    const socket = connect(port, '127.0.0.1');
    socket.end(one('/users/foreign-1') + one('/users/foreign-2') + one('/nothing'));
    let text = '';
    for await (const chunk of socket) text += chunk;
    const places = ['"access_key":"foreign-1"', '"access_key":"foreign-2"', '404'].map((each) => text.indexOf(each));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(Math.min(...places), text).toBeGreaterThanOrEqual(0);
    await report(({ requests }) => requests === 3);

    for (const request of [one('/users'), `${head('POST', '/users')}content-length: 100\r\n\r\n{"name":`]) {
      for (const _ of Array.from({ length: 20 })) {
        const { socket: leaving } = await openRaw({ port, host: '127.0.0.1' });
        leaving.write(request, () => leaving.resetAndDestroy());
      }
    }
    const clients = await Promise.all(Array.from({ length: 1_000 }, () => openRaw({ port, host: '127.0.0.1' })));
    for (const client of clients) client.socket.write(one('/users/foreign-1'));
    const answers = await Promise.all(clients.map((client) => client.received(/"access_key":"foreign-1".*\}$/)));
    const bodies = answers.map((each) => each.slice(each.indexOf('\r\n\r\n')));
    expect(new Set(bodies).size).toBe(1);
    const seenOf = ({ rows }: ShadowReport) =>
      rows.filter(({ operation }) => operation === 'getUser').reduce((sum, { seen }) => sum + seen, 0);
    // The last report is waited for only so long: what is in none by then is told by no other.
    await report((now) => seenOf(now) === 1_002);
    running.child.kill('SIGTERM');
    for (const client of clients) client.socket.end();
    const ended = await running.ended;
    expect(ended).toMatchObject({ code: 0, complaints: '' });
    const written: ShadowReport = JSON.parse(await readFile(join(folder, 'keyway-shadow.json'), 'utf8'));
    expect(seenOf(written)).toBe(1_002);
    const read = written.rows.filter(({ operation }) => operation === 'getUser');
    expect(read.every(({ seen, equal }) => seen === equal)).toBe(true);
    expect(written.differences).toEqual([]);
  });

  test('and the run says so and ends otherwise than with success where comparing has ended by a fault of its own', async () => {
    const target = await startLiveServer('current');
    const fault = join(await emptyFolder(), 'fault.cjs');
    const script = `if (!require('node:worker_threads').isMainThread)
      setInterval(() => { if (require('node:fs').existsSync(${JSON.stringify(`${fault}.now`)})) throw new Error('made to fail'); }, 20);`;
    await writeFile(fault, script);
    const flags = ['--target', target.origin, ...LISTEN, '--to', 'current', '--token', TOKEN];
    const environment = { NODE_OPTIONS: `--require ${fault}` };
    const [lost, counting] = [
      await shadowed(flags, environment),
      await shadowed([...flags, '--until', '9'], environment),
    ];
    for (const { get, report } of [lost, counting]) {
      await report(hasBegun);
      await get(`${API}/users`);
      await report(({ compared }) => compared === 1);
    }
    await writeFile(`${fault}.now`, '');
    // Nine will never be compared.
    expect(await counting.running.ended).toMatchObject({ code: 2 });
    await lost.report((report) => report.lost === 'made to fail');
    const status = await runKeyway(['shadow', '--status'], { folder: lost.folder });
    expect(status).toMatchObject({ code: 2, output: expect.stringContaining('any more: made to fail') });
    const json = await runKeyway(['shadow', '--status', '--reporter', 'json'], { folder: lost.folder });
    expect(json).toMatchObject({ code: 2, output: expect.stringContaining('any more: made to fail') });
    expect(await lost.get(`${API}/server/status`)).toContain('uptime');
    lost.running.child.kill('SIGTERM');
    expect(await lost.running.ended).toMatchObject({ code: 2 });
    const { rows, requests } = await lost.report(() => true);
    expect(requests).toBe(2);
    expect(rows.find(({ operation }) => operation === 'getStatus')?.leftOut).toEqual({
      'nothing was compared any more': 1,
    });
  });

  test('and each request is in the last report where the shadow hangs, as one that was not compared', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const shadow = await turningBad(target.origin);
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', shadow.origin, '--timeout', '60'];
    const { get, report, running, folder } = await shadowed(flags, { KEYWAY_TOKEN: TOKEN, KEYWAY_SHADOW_TOKEN: TOKEN });
    await report(hasBegun);
    shadow.how.bad = () => undefined;
    await Promise.all(
      Array.from({ length: 300 }, (_, index) => get(`${API}/users${index % 3 === 0 ? '' : '/foreign-1'}`)),
    );
    running.child.kill('SIGTERM');
    expect((await running.ended).complaints).toContain('nothing was compared');
    const { requests, rows }: ShadowReport = JSON.parse(await readFile(join(folder, 'keyway-shadow.json'), 'utf8'));
    expect(requests).toBe(300);
    expect(rows).toMatchObject([
      { operation: 'getUser', seen: 200, leftOut: { 'the run ended before': 200 } },
      { operation: 'listUsers', seen: 100, leftOut: { 'the run ended before': 100 } },
    ]);
  });

  test('by a target that is away and comes back, or ends an answer half-way', async () => {
    const target = await startLiveServer('current');
    const flags = ['--target', target.origin, ...LISTEN, '--to', 'current', '--token', TOKEN];
    const { get, report } = await shadowed(flags);
    await report(hasBegun);
    await get(`${API}/users`);
    await target.close();
    await expect(get(`${API}/users`)).rejects.toThrow();
    const { notes } = await report(({ requests }) => requests === 2);
    expect(notes).toContainEqual(expect.stringContaining('no answer from the server'));
    const port = Number(new URL(target.origin).port);
    const again = await openLiveServer('current', {}, {}, port);
    onTestFinished(again.close);
    // Where the restart is noticed the shadow begins anew, and what passes meanwhile is not compared.
    let asked = 2;
    await vi.waitFor(async () => {
      asked += 1;
      await get(`${API}/users`);
      await report(({ requests, compared }) => requests === asked && compared > 1, 2_000);
    }, WAITED);
    await again.close();
    const half = await startScriptedServer(
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"ok":true'),
      port,
    );
    onTestFinished(half.close);
    await expect(get(`${API}/users`)).rejects.toThrow();
    const { rows } = await report(({ requests }) => requests === asked + 1);
    expect(rows.map(({ leftOut }) => leftOut['no whole answer'])).toEqual([2]);
  });
});
