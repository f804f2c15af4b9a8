import { copyFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';
import { WHOLE } from '../whole.js';
import { runHere } from './context.js';
import { type Running, startKeyway } from './process.js';

let folder = '';
let running: Running[] = [];
beforeAll(buildIfOlder);
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
});
afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ ended }) => ended));
  running = [];
});

/** Starts the command as a process and waits until it listens. */
async function listening(argv: readonly string[]) {
  const started = startKeyway(argv, { folder });
  running.push(started);
  const record = await started.logged(({ url }) => typeof url === 'string');
  return { ...started, record, url: String(record.url) };
}

/** The same in this process. */
async function listeningHere(argv: readonly string[]) {
  const served = await serveHere(argv, { folder });
  return { ...served, url: await served.url };
}

const SAMPLE = ['serve', '--config', 'server.jsonc', '--bind', '127.0.0.1:0'];
const TOKEN = { authorization: 'Bearer sample-static-token' };

async function keysAt(url: string, headers: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const response = await fetch(url, { headers });
  expect(response.status, url).toBe(200);
  const { data } = (await response.json()) as { data: readonly { access_key: string }[] };
  return data.map(({ access_key }) => access_key);
}

async function sessionAt(url: string, password = 'password'): Promise<Readonly<Record<string, string>>> {
  const body = JSON.stringify({ username: 'admin', password });
  const response = await fetch(`${url}/login`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  });
  const { data } = (await response.json()) as { data: { token: string } };
  return { authorization: `Bearer ${data.token}` };
}

describe('keyway serve', () => {
  it('answers three revisions from one set of keys, as the README shows', async () => {
    const { url } = await listeningHere([
      ...SAMPLE,
      '--revision',
      'earliest',
      '--revision',
      'dns@old',
      '--revision',
      'current@new',
    ]);
    const expected = ['6f1d2c3b4a5968778695a4b3c2d1e0ff', '0c9e8d7f6a5b4c3d2e1f00112233ff44', 'guest-2026'];
    expect(await keysAt(`${url}/api/users`, TOKEN)).toEqual(expected);
    expect(await keysAt(`${url}/old/api/users`, await sessionAt(`${url}/old/api`))).toEqual(expected);
    expect(await keysAt(`${url}/new/api/users`, TOKEN)).toEqual(expected);
  });

  it('writes JSON lines with the url, neither tokens nor keys as they are, and ends cleanly at SIGTERM and SIGINT', async () => {
    const { url, child, ended, record } = await listening(SAMPLE);
    expect(record).toMatchObject({
      level: 'info',
      msg: `listening on ${url}`,
      url: expect.stringMatching(/^http:\/\/127/),
    });
    await fetch(`${url}/panel/api/users/guest-2026`, { headers: TOKEN });
    const created = await fetch(`${url}/panel/api/users`, {
      method: 'POST',
      headers: { ...TOKEN, 'content-type': 'application/json' },
      body: '{"access_key":"kept"}',
    });
    expect(created.status).toBe(200);
    child.kill('SIGTERM');
    const { output, ...end } = await ended;
    expect(end).toMatchObject({ code: 0, signal: null });
    const lines = output.trimEnd().split('\n');
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
    expect(output).toMatch(/"status":200/);
    expect(output).not.toContain('guest-2026');
    expect(output).not.toContain('sample-static-token');
    if (!WHOLE) return;
    const again = await listening(SAMPLE);
    expect(await keysAt(`${again.url}/panel/api/users`, TOKEN)).toContain('kept');
    again.child.kill('SIGINT');
    expect(await again.ended).toMatchObject({ code: 0, signal: null });
  });
});

describe('keyway start', () => {
  it('in an empty folder writes the starter file and serves its panel and, with its password, its API', async () => {
    const { url, log } = await listeningHere(['start', '--config', 'fresh.jsonc', '--bind', '127.0.0.1:0']);
    const text = await readFile(join(folder, 'fresh.jsonc'), 'utf8');
    const webpath = /"webpath": "([0-9a-f]{16})"/.exec(text)?.[1] ?? '';
    const address = `${url}/${webpath}/`;
    const told = async () => (await log()).map(({ msg }) => String(msg));
    await expect.poll(told).toContain(`Panel: ${address}`);
    expect((await told()).some((line) => line.includes(join(folder, 'fresh.password')))).toBe(true);
    expect((await stat(join(folder, 'fresh.password'))).mode & 0o777).toBe(0o600);
    expect(await (await fetch(address)).text()).toContain('<html');
    const password = (await readFile(join(folder, 'fresh.password'), 'utf8')).trimEnd();
    expect(await keysAt(`${address}api/users`, await sessionAt(`${address}api`, password))).toHaveLength(1);
  });
});

describe('keyway config restore', () => {
  it('of a version that is not kept changes nothing, exit code 1', async () => {
    const before = await readFile(join(folder, 'server.jsonc'));
    const { code, complaints } = await runHere(['config', 'restore', 'nothing', '--config', 'server.jsonc'], {
      folder,
    });
    expect(code).toBe(1);
    expect(complaints).toContain('nothing');
    expect(await readFile(join(folder, 'server.jsonc'))).toEqual(before);
  });
});
