import { readdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { until } from '../feed/stage.js';
import { folderForTest } from '../folder-for-test.js';
import { PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME, unhurried } from '../lab/live-server.js';
import { someOf, WHOLE } from '../whole.js';
import { runHere } from './context.js';
import { startKeyway } from './process.js';

beforeAll(buildIfOlder, 240_000);

/** One scenario of the pack with its text changed, in a folder of its own. */
async function changedScenario(file: string, change: (text: string) => string): Promise<string> {
  const folder = await folderForTest();
  const text = await readFile(join(ROOT, 'fixtures', file), 'utf8');
  await writeFile(join(folder, 'changed.json'), change(text));
  return folder;
}

/** What passes everything on to a server, until it passes nothing on. */
async function hangingFront(origin: string) {
  const { hostname, port } = new URL(origin);
  const open = new Set<Socket>();
  let isHanging = false;
  const front = createServer((client) => {
    if (isHanging) return void open.add(client);
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    front.close();
  });
  const { port: own } = front.address() as AddressInfo; // It listens on a port.
  const hang = () => {
    isHanging = true;
    for (const socket of open) socket.unpipe().pause();
  };
  return { origin: `http://127.0.0.1:${own}`, hang };
}

const wrongText = (text: string) => text.replace('"error":"unauthorized"', '"error":"not you"');

describe('keyway replay without a target', () => {
  test('with one text changed prints the difference side by side and exits 1', async () => {
    const folder = await changedScenario('current/auth.json', wrongText);
    const ended = await runHere(['replay', 'changed.json'], { folder });
    expect(ended.code).toBe(1);
    expect(ended.output).toContain('step 2: GET /server/status');
    expect(ended.output).toMatch(/body \/error\s+\| "not you"\s+\| "unauthorized"/);
    expect(ended.output).toContain('0 equal, 1 different, 0 skipped');
  });

  test('names file, path and expectation of what is no scenario, and plays the others', async () => {
    const folder = await changedScenario('current/auth.json', (text) => text.replace('"method":"GET"', '"method":5'));
    await writeFile(join(folder, 'good.json'), await readFile(join(ROOT, 'fixtures/current/auth.json'), 'utf8'));
    await writeFile(join(folder, 'text.json'), 'no JSON');
    const good = await readFile(join(folder, 'good.json'), 'utf8');
    await writeFile(join(folder, 'unknown.json'), good.replace('"revision": "current"', '"revision": "0.1.0"'));
    const ended = await runHere(['replay', '.'], { folder });
    expect(ended.code).toBe(2);
    expect(ended.output).toContain(
      `${join(folder, 'changed.json')}: /exchanges/1/request/method: expected a method in capitals, found the number 5`,
    );
    expect(ended.output).toContain(`${join(folder, 'unknown.json')}: /revision: expected earliest, dns, current`);
    expect(ended.output).toContain('text.json: /: expected JSON');
    expect(ended.output).toContain('1 equal, 0 different, 0 skipped, 3 that could not be played');
  });

  test('reports for programs', async () => {
    const folder = await changedScenario('current/auth.json', wrongText);
    const reporters = ['json', 'junit'].map((name) =>
      runHere(['replay', 'changed.json', '--reporter', name], { folder }),
    );
    const [json, junit] = await Promise.all(reporters);
    const document = JSON.parse(json?.output ?? '');
    expect(document.summary).toEqual({ equal: 0, different: 1, skipped: 0, broken: 0 });
    const difference = { step: 2, where: 'body /error', expected: 'not you', found: 'unauthorized' };
    expect(document.scenarios[0].differences[0]).toMatchObject(difference);
    expect(junit?.output).toMatch(/<testsuites tests="1" failures="1" errors="0" skipped="0">/);
    expect(junit?.output).toContain('expected &quot;not you&quot;');
    for (const ended of [json, junit]) expect(ended?.code).toBe(1);
  });

  test.each([
    [['--target', 'ftp://x'], '--target: expected the server'],
    [['--target', 'http://x'], '--revision: expected what the target speaks'],
    [['--writes'], '--writes: expected a --target with it'],
    [['--timeout', '0'], '--timeout: expected seconds'],
    [['--reporter', 'xml'], '--reporter: expected one of text, json, junit, github'],
    [['--revision', 'old'], '--revision: expected earliest, dns, current'],
    [['--target', 'http://x', '--revision', 'dns', '--username', 'u'], 'KEYWAY_PASSWORD: expected the password'],
    [['--target', 'http://x', '--revision', 'dns', '--update'], '--update: expected the paths'],
  ])('refuses %j', async (argv, problem) => {
    const ended = await runHere(['replay', ...argv]);
    expect(ended.complaints).toContain(problem);
    expect(ended.code).toBe(2);
  });

  test('of a path that is not there says so and exits 2', async () => {
    const ended = await runHere(['replay', 'nowhere'], { folder: await folderForTest() });
    expect(ended.complaints).toContain('nowhere cannot be read');
    expect(ended.code).toBe(2);
  });
});

describe('keyway replay on a target', () => {
  test('that nobody listens at says which one and exits 2', async () => {
    const ended = await runHere(['replay', '--target', 'http://127.0.0.1:1', '--revision', 'current']);
    expect(ended.complaints).toBe('keyway replay: --target http://127.0.0.1:1: nobody listens there (ECONNREFUSED)\n');
    expect(ended.code).toBe(2);
  });

  const environment = { KEYWAY_PASSWORD: PASSWORD };
  const flagsFor = (origin: string, revision: string) =>
    ['replay', '--target', origin, '--revision', revision, '--username', USERNAME, '--token', TOKEN] as const;

  if (WHOLE)
    test('that is a running gateway is green', async () => {
      const { server: options, wait } = unhurried();
      const server = await startLiveServer('current', {}, options);
      const folder = await folderForTest();
      const ended = await runHere([...flagsFor(server.origin, 'current'), '--writes'], { folder, environment, wait });
      expect(ended.output).toMatch(
        /\n[3-9]\d equal, 0 different, \d+ skipped\ncompatible as far as seen: \d+ of \d+ operations, /,
      );
      expect(ended.code).toBe(0);
      // It said what it would change before the first scenario, and has nothing left behind.
      const said = ended.output.indexOf('makes keys whose texts begin with');
      expect(said).toBeGreaterThan(-1);
      expect(said).toBeLessThan(ended.output.search(/^equal/m));
      expect(await readdir(folder)).toEqual([]);
      expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
    });

  test.each(
    someOf(['SIGINT', 'SIGTERM'] as const, 1),
  )('ended by %s while its keys stand there, removes them', async (signal) => {
    const server = await startLiveServer('current');
    const keys = server.keys();
    const running = startKeyway([...flagsFor(server.origin, 'current'), '--writes'], { folder: ROOT, environment });
    await until(() => server.keys().length > keys.length);
    running.child.kill(signal);
    const ended = await running.ended;
    expect(ended.complaints).toContain('another signal ends it at once');
    expect(ended.complaints).toContain('interrupted after');
    expect(ended.code).toBe(2);
    expect(server.keys()).toEqual(keys);
    expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
  });

  if (WHOLE)
    test('ended by a second SIGINT while the server hangs ends at once', async () => {
      const server = await startLiveServer('current');
      const keys = server.keys().length;
      const { origin, hang } = await hangingFront(server.origin);
      const running = startKeyway([...flagsFor(origin, 'current'), '--writes'], { folder: ROOT, environment });
      await until(() => server.keys().length > keys);
      hang();
      const again = setInterval(() => running.child.kill('SIGINT'), 200);
      const ended = await running.ended.finally(() => clearInterval(again));
      expect(ended.code).toBe(130);
    });

  test('whose login is refused could not run', async () => {
    const server = await startLiveServer('dns');
    const argv = flagsFor(server.origin, 'dns');
    const ended = await runHere(argv, { folder: ROOT, environment: { KEYWAY_PASSWORD: 'wrong' } });
    expect(ended.complaints).toContain(`the login as ${USERNAME} was refused with 401`);
    expect(ended.code).toBe(2);
  });

  test('rewrites recordings with --update, marks them, and never a scenario of the specification', async () => {
    const server = await startLiveServer('current');
    const recording = {
      title: 't',
      revision: 'current',
      source: 'recorded',
      recordedAt: '2020-01-01',
      given: {},
      exchanges: [
        {
          operation: 'listAudit',
          request: { method: 'GET', path: '/audit' },
          response: { status: 200, body: { ok: true, data: ['old'] } },
        },
      ],
    };
    const folder = await changedScenario('current/auth.json', wrongText);
    const spec = await readFile(join(folder, 'changed.json'), 'utf8');
    await writeFile(join(folder, 'recording.json'), JSON.stringify(recording));
    const argv = [...flagsFor(server.origin, 'current'), '--update', '.'];
    const ended = await runHere(argv, { folder, environment });
    expect(ended.complaints).toContain(`rewrote ${join(folder, 'recording.json')}`);
    expect(ended.output).toContain('not rewritten: this scenario is written by hand');
    const after = JSON.parse(await readFile(join(folder, 'recording.json'), 'utf8'));
    expect(after).toMatchObject({ source: 'recorded', serverVersion: '0.3.6' });
    expect(after.recordedAt).not.toBe('2020-01-01');
    expect(after.exchanges[0].response.body).toEqual({ ok: true, data: [] });
    expect(await readFile(join(folder, 'changed.json'), 'utf8')).toBe(spec);
  });
});
