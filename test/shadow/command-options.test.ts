import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildIfOlder } from '../build.js';
import { runKeyway } from '../commands/process.js';
import { SERVER_FILE, startLiveServer, TOKEN } from '../replay/live-server.js';
import { bytesOf, scriptedServer } from '../stand-in/scripted-server.js';
import { API, authorization, emptyFolder, hasBegun, LISTEN, shadowed } from './shadowed.js';

beforeAll(buildIfOlder, 240_000);

const CREDENTIALS = { KEYWAY_TOKEN: TOKEN, KEYWAY_SHADOW_TOKEN: TOKEN };
const headers = { authorization, 'content-type': 'application/json' };

/** A second server that tells another name of one key. */
async function otherwise(line: string, edit = (text: string) => text.replace('"Somebody"', '"Other"')) {
  const server = await startLiveServer(line, {}, { reportVersion: '0.2.96' });
  const how = { isHung: false };
  const { origin } = await scriptedServer(async (request, response) => {
    if (how.isHung) return;
    const { method = '', url: path = '', headers: given } = request;
    const body = await bytesOf(request);
    const answer = await fetch(server.origin + path, {
      method,
      headers: {
        authorization: given.authorization ?? '',
        ...(given['content-type'] === undefined ? {} : { 'content-type': given['content-type'] }),
      },
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    const kept = { 'content-type': answer.headers.get('content-type') ?? '', 'access-control-allow-origin': '*' };
    response.writeHead(answer.status, kept).end(edit(await answer.text()));
  });
  return { origin, how };
}

describe('keyway shadow', () => {
  test('ends with 3, and how the keys differ, where --writes is refused for them', async () => {
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    await fetch(`${other.origin}${API}/users/foreign-2`, { method: 'DELETE', headers });
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', other.origin, '--writes'];
    const ended = await runKeyway(['shadow', ...flags], { folder: await emptyFolder(), environment: CREDENTIALS });
    expect(ended.complaints).toMatch(
      /1 of its keys differ from the target's: give --prepare .*\n {2}key \w{8}: missing\n/,
    );
    expect(ended.code).toBe(3);
  });

  test('goes on for a time that no timer takes at once, and ends after one that has passed', async () => {
    const target = await startLiveServer('current');
    const flags = ['--target', target.origin, ...LISTEN, '--to', 'current', '--token', TOKEN];
    const long = await shadowed([...flags, '--for', '30d']);
    await long.report(hasBegun);
    await long.get(`${API}/users`);
    await long.report(({ compared }) => compared === 1);
    long.running.child.kill('SIGTERM');
    expect(await long.running.ended).toMatchObject({ code: 0 });
    // Without a credential nothing is compared, however long a second may be.
    const short = await shadowed([...flags.slice(0, -2), '--for', '1s']);
    expect((await short.running.ended).code).toBe(3);
  });

  test('does not begin where --ops-bind has no address', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const flags = ['--target', 'http://127.0.0.1:9', ...LISTEN, '--to', 'current', '--ops-bind', `127.0.0.1:${port}`];
    const ended = await runKeyway(['shadow', ...flags], { folder: await emptyFolder() });
    expect(ended.complaints).toContain('--ops-bind: ');
    expect(ended.output).toBe('');
    expect(ended.code).toBe(2);
  });

  test('tells what differs to people and to programs, and a register explains it', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const { origin } = await otherwise('current', (text) => text.replace('"action":"proxy"', '"action":"block"'));
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', origin, '--until', '1'];
    const found = await shadowed(flags, CREDENTIALS);
    await found.report(hasBegun);
    await found.get(`${API}/router/rules`);
    expect((await found.running.ended).code).toBe(1);
    const WORDS: Readonly<Record<string, RegExp>> = {
      text: /^DIFFERENT getRules: 1 of 1 requests compared\n {2}getRules\n.*\| target .*\| shadow\n.*action .*"proxy" .*"block"/m,
      junit: /<testcase [^>]*name="getRules"[^>]*><failure message="1 differences">/,
      tap: /^not ok 1 - getRules$/m,
      github: /^::error title=getRules::getRules: body \/data\/\*\/action: expected "proxy", found /m,
      json: /"where": "body \/data\/\*\/action"/,
    };
    for (const [reporter, words] of Object.entries(WORDS)) {
      const how = reporter === 'text' ? [] : ['--reporter', reporter];
      const status = await runKeyway(['shadow', '--status', ...how], { folder: found.folder });
      expect(status.output, reporter).toMatch(words);
      expect(status.code, reporter).toBe(1);
    }

    const register = join(found.folder, 'expected.json');
    const entry = { operation: 'getRules', where: 'body /data/*/action', reason: 'counted anew' };
    await writeFile(register, JSON.stringify([entry]));
    const explained = await shadowed([...flags, '--expect', register, '--fail-on', 'new'], CREDENTIALS);
    await explained.report(hasBegun);
    await explained.get(`${API}/router/rules`);
    const ended = await explained.running.ended;
    expect(ended.output).toMatch(
      /which the lines or the register explain:\n {2}getRules .* \(counted anew; 1 times; node\)/,
    );
    expect(ended.code).toBe(0);

    await writeFile(register, JSON.stringify([{ ...entry, where: 1 }]));
    const wrong = await runKeyway(['shadow', ...flags, '--expect', register], {
      folder: found.folder,
      environment: CREDENTIALS,
    });
    expect(wrong.complaints).toContain(`${register}: /0/where: `);
    expect(wrong.code).toBe(2);
  });

  test('saves a request of each kind of difference so that keyway replay plays it', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const { origin } = await otherwise('current', (text) => text.replace('{"ok":', '{"extra":1,"ok":'));
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', origin, '--destructive', '--save', 'saved'];
    const { url, report, running, folder } = await shadowed(flags, CREDENTIALS);
    await report(hasBegun);
    const requests: readonly (readonly [string, string, unknown?])[] = [
      ['GET', '/server/status'],
      ['GET', '/server/config'],
      ['GET', '/router/rules'],
      ['GET', '/users'],
      ['GET', '/users/foreign-2'],
      ['GET', '/users/unknown'],
      ['GET', '/audit'],
      ['GET', '/nothing'],
      ['POST', '/users', { access_key: 'given', name: 'x', limit_bytes: 5 }],
      ['POST', '/users', { name: 'y' }],
      ['PUT', '/users/given', { name: 'z', limit_bytes: null }],
      ['PUT', '/users/given/limit', { limit_bytes: 7 }],
      ['POST', '/users/given/reset'],
      ['DELETE', '/users/given'],
      ['PUT', '/users/unknown/limit', { limit_bytes: 7 }],
      ['PUT', '/router/rules', [{ domain_suffix: ['.example'], action: 'block' }]],
      ['POST', '/audit', { eventEn: 'Sign-in', eventRu: 'Вход', success: true }],
      ['DELETE', '/audit'],
      ['PUT', '/server/config', JSON.parse(SERVER_FILE)],
    ];
    // One after the other: what differs is made equal, and what was sent before that is not compared.
    for (const [index, [method, path, body]] of requests.entries()) {
      const content = body === undefined ? {} : { body: JSON.stringify(body) };
      await (await fetch(url + API + path, { method, headers, ...content })).arrayBuffer();
      await report(({ compared }) => compared === index + 1);
    }
    const { differences } = await report(() => true);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(1);
    const operations = new Set(differences.map(({ operation }) => operation));
    expect(operations.size).toBeGreaterThan(10);
    expect(await readdir(join(folder, 'saved'))).toHaveLength(differences.length);
    const played = await runKeyway(['replay', 'saved'], { folder });
    expect(played.output).toContain(`${differences.length} equal, 0 different, 0 skipped`);
    expect(played.code).toBe(0);
  });

  test('loses nothing of what it has seen to SIGKILL but what is compared, also where the shadow hangs', async () => {
    const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
    const { origin, how } = await otherwise('current');
    const flags = ['--target', target.origin, ...LISTEN, '--shadow', origin, '--timeout', '60'];
    const { get, report, running, folder } = await shadowed(flags, CREDENTIALS);
    await report(hasBegun);
    how.isHung = true;
    await Promise.all(Array.from({ length: 30 }, () => get(`${API}/users`)));
    await report(({ waiting }) => waiting === 30);
    running.child.kill('SIGKILL');
    await running.ended;
    const status = await runKeyway(['shadow', '--status'], { folder });
    expect(status.output).toContain('0 requests, 0 compared, 30 more wait to be');
    const written = JSON.parse(await readFile(join(folder, 'keyway-shadow.json'), 'utf8'));
    for (const other of ['null', '{"version":1}', '[1', JSON.stringify({ ...written, operations: null })]) {
      await writeFile(join(folder, 'keyway-shadow.json'), other);
      const broken = await runKeyway(['shadow', '--status'], { folder });
      expect(broken.complaints).toContain('keyway-shadow.json is no report of this version of keyway shadow');
      expect(broken.code).toBe(2);
    }
  });

  test('holds a list of 100,000 keys together, and passes it on as it is', { timeout: 240_000 }, async () => {
    const folder = await emptyFolder();
    await mkdir(join(folder, 'server'));
    const configPath = join(folder, 'server/server.json');
    const access_keys = Array.from({ length: 100_000 }, (_, index) => `key-${index}`);
    await writeFile(configPath, JSON.stringify({ ...JSON.parse(SERVER_FILE), access_keys }));
    const target = await startLiveServer('current', {}, { configPath });
    const flags = ['--target', target.origin, ...LISTEN, '--to', 'current', '--token', TOKEN];
    const { get, report, running } = await shadowed(flags);
    await report(hasBegun, 100_000);
    const direct = await (await fetch(`${target.origin}${API}/users`, { headers })).text();
    expect((await get(`${API}/users`)) === direct).toBe(true);
    await get(`${API}/users/key-99999`);
    const { rows, differences, notes } = await report(({ requests }) => requests === 2, 100_000);
    expect({ differences, notes }).toEqual({ differences: [], notes: [] });
    expect(rows).toMatchObject([{ equal: 1 }, { equal: 1 }]);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});
