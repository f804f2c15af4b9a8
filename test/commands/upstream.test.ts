import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { finish } from '../../src/core/steps.js';
import { compactJsonSteps } from '../../src/wire/json/json.js';
import { folderForTest } from '../folder-for-test.js';
import { PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME } from '../lab/live-server.js';
import { serveHere } from '../serve/serve-here.js';
import { runHere } from './context.js';

const BY_LOGIN = { KEYWAY_UPSTREAM_USERNAME: USERNAME, KEYWAY_UPSTREAM_PASSWORD: PASSWORD };
const BY_TOKEN = { KEYWAY_UPSTREAM_TOKEN: TOKEN };

interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
  readonly body: any;
}

/** `keyway serve` in this process, in front of a server, in a folder of its own. */
async function serveInFront(
  origin: string,
  environment: Readonly<Record<string, string>>,
  argv: readonly string[] = [],
) {
  const folder = await folderForTest();
  const serve = ['serve', '--upstream', origin, '--bind', '127.0.0.1:0', ...argv];
  const { text: log, stop, url: listening } = await serveHere(serve, { folder, environment });
  const url = await listening;
  return {
    ...{ url, folder, log, stop },
    async ask(method: string, path: string, authorization: string, body?: unknown): Promise<Answered> {
      const answer = await fetch(url + path, {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: JSON.parse(await answer.text()) };
    },
  };
}

describe('keyway serve --upstream', () => {
  it('serves every revision over a line with sessions alone: people sign in as ever, and the token is the same', async () => {
    const { origin, keys } = await startLiveServer('0.2.48');
    const front = await serveInFront(`${origin}/panel`, BY_LOGIN, [
      '--revision',
      'earliest',
      '--revision',
      'dns@old',
      '--revision',
      'current@new',
    ]);
    const credentials = { username: USERNAME, password: PASSWORD };
    for (const mount of ['old', 'new']) {
      const { body } = await front.ask('POST', `/${mount}/api/login`, '', credentials);
      const list = await front.ask('GET', `/${mount}/api/users`, `Bearer ${body.data.token}`);
      expect([list.status, list.body.data.map((each: { access_key: string }) => each.access_key)]).toEqual([
        200,
        ['foreign-1', 'foreign-2'],
      ]);
    }
    // What a relay node calls, which the server itself refuses.
    expect((await front.ask('GET', '/api/users', `Bearer ${TOKEN}`)).status).toBe(200);
    const bulk = await front.ask('POST', '/new/api/users/bulk', `Bearer ${TOKEN}`, { count: 2, limit_bytes: 5 });
    expect(keys().filter((line) => line.startsWith(bulk.body.data[0]))).toHaveLength(1);
    const link = await fetch(`${front.url}/new/api/subscribe/foreign-1`, { headers: { accept: 'text/plain' } });
    expect(await link.text()).toContain('ostp://foreign-1@198.51.100.9:50000?type=udp');
    await front.stop();
    const log = await front.log();
    expect(log).toContain('the server has one session');
    expect(log).not.toMatch(new RegExp(`${PASSWORD}|${TOKEN}`));
    const { port } = new URL(origin);
    expect(await readdir(front.folder)).toContain(`keyway-127.0.0.1-${port}.keyway`);
  });

  it('leaves what a server needs that has destroyed its file: its configuration, with the keys of now', async () => {
    const { origin } = await startLiveServer('current');
    const front = await serveInFront(`${origin}/panel`, BY_TOKEN);
    const authorization = `Bearer ${TOKEN}`;
    await front.ask('POST', '/panel/api/users', authorization, { access_key: 'late', name: 'Late', limit_bytes: 7 });
    await front.ask('DELETE', '/panel/api/users/foreign-1', authorization);
    const { folder } = front;
    const run = (...argv: string[]) =>
      runHere(['config', ...argv, '--upstream', `${origin}/panel`], { folder, environment: BY_TOKEN });
    const versions: readonly { id: string }[] = JSON.parse((await run('list', '--json')).output);
    const written = await run('restore', versions[0]?.id ?? '', '--out', 'server.jsonc');
    expect([written.code, written.output]).toEqual([
      0,
      expect.stringMatching(
        /^server\.jsonc is the configuration of .*\nwith the 2 keys that Keyway knew last: 0 more .* 1 of/,
      ),
    ]);
    const { access_keys, mode } = JSON.parse(await readFile(join(folder, 'server.jsonc'), 'utf8'));
    expect([mode, JSON.stringify(access_keys)]).toEqual(['server', expect.stringContaining('late')]);
    expect(JSON.stringify(access_keys)).not.toContain('foreign-1');
    expect((await run('restore', versions[0]?.id ?? '', '--out', 'server.jsonc')).complaints).toContain(
      'is not overwritten',
    );
    await front.stop();
  });

  it('by the token alone lets the same operator in as the server does', async () => {
    const { origin } = await startLiveServer('current');
    const front = await serveInFront(`${origin}/panel`, BY_TOKEN);
    const login = await front.ask('POST', '/panel/api/login', '', { username: USERNAME, password: PASSWORD });
    expect(login.status).toBe(200);
    expect((await front.ask('GET', '/panel/api/users', `Bearer ${login.body.data.token}`)).status).toBe(200);
    // Its own, where they are given.
    const own = await serveInFront(`${origin}/panel`, { ...BY_TOKEN, KEYWAY_TOKEN: 'mine' });
    expect((await own.ask('GET', '/panel/api/users', `Bearer ${TOKEN}`)).status).toBe(401);
    expect((await own.ask('GET', '/panel/api/users', 'Bearer mine')).status).toBe(200);
  });

  it('says of what is lost what concerns its mounts, and of an unmeasured line that it is one', async () => {
    const { origin } = await startLiveServer('0.2.24');
    const lossy = await serveInFront(origin, BY_TOKEN, ['--revision', 'current']);
    expect(await lossy.log()).toContain('The server tells no names');
    expect(await lossy.log()).toContain('no server of this line was measured');
    const others = await serveInFront(origin, BY_TOKEN, ['--revision', 'earliest']);
    expect(await others.log()).not.toContain('The server tells no names');
  });

  it.each([
    ['a token that is refused', { KEYWAY_UPSTREAM_TOKEN: 'geheim-7' }, /it refuses the token: --upstream-token is not/],
    ['no credential', {}, /it asks for a credential: give --upstream-token/],
    [
      'a password that is refused',
      { ...BY_LOGIN, KEYWAY_UPSTREAM_PASSWORD: 'geheim-7' },
      /it refuses --upstream-username and --upstream-password/,
    ],
  ])('does not start with %s, says why, and not with what', async (_, environment, reason) => {
    const { origin } = await startLiveServer('current');
    const failure = await serveInFront(`${origin}/panel`, environment).catch((error: unknown) => String(error));
    expect(failure).toMatch(reason);
    expect(failure).not.toContain('geheim-7');
  });

  it('says that a server beyond this machine is called without TLS', async () => {
    const front = await serveInFront('http://keyway-upstream.invalid:9090', BY_TOKEN);
    expect(await front.log()).toContain('the server is called without TLS');
  });

  it('names the file of certificates that cannot be used', async () => {
    const folder = await folderForTest();
    await writeFile(join(folder, 'ca.pem'), 'no certificate');
    const argv = ['serve', '--upstream', 'https://127.0.0.1:9', '--bind', '127.0.0.1:0', '--log-level', 'silent'];
    for (const [name, words] of [
      ['ca.pem', 'expected certificates in PEM in'],
      ['none.pem', 'cannot read'],
    ]) {
      const { code, complaints } = await runHere([...argv, '--upstream-ca', name ?? ''], { folder });
      expect([code, complaints]).toEqual([1, expect.stringContaining(`--upstream-ca: ${words} ${folder}/${name}`)]);
    }
  });
});

describe('what stands beside it', () => {
  it('keeps the configuration before a replacement, and config restore sends it back', async () => {
    const { origin, file, keys } = await startLiveServer('0.2.60');
    const front = await serveInFront(`${origin}/panel`, BY_TOKEN);
    const upstream = ['--upstream', `${origin}/panel`];
    const before = JSON.parse(SERVER_FILE);
    const next = { ...before, access_keys: ['only-this'] };
    expect((await front.ask('PUT', '/panel/api/server/config', `Bearer ${TOKEN}`, next)).status).toBe(200);
    expect(keys().map((line) => line.split(' ')[0])).toEqual(['only-this']);
    const context = { folder: front.folder, environment: BY_TOKEN };
    const listed = JSON.parse((await runHere(['config', 'list', '--json', ...upstream], context)).output);
    expect(listed).toHaveLength(1);
    const restored = await runHere(['config', 'restore', listed[0].id, ...upstream], context);
    expect([restored.code, restored.complaints]).toEqual([0, '']);
    expect(restored.output).toContain(`${origin} was sent its configuration of `);
    expect(await file()).toEqual(before);
    expect(keys().map((line) => line.split(' ')[0])).toEqual(['foreign-1', 'foreign-2']);
    const [other] = JSON.parse((await runHere(['config', 'list', '--json', ...upstream], context)).output);
    expect(other).toMatchObject({ keys: 1, differs: { keysAdded: 1, keysRemoved: 2 } });
    const away = await runHere(['config', 'list', ...upstream], { folder: front.folder });
    expect(away.output).toMatch(/ 1 +not known$/m);
    expect(away.complaints).toContain('what differs from now is not known: the server does not let Keyway in');
    const refused = await runHere(['config', 'restore', listed[0].id, ...upstream], { folder: front.folder });
    expect([refused.code, refused.complaints]).toEqual([
      1,
      expect.stringContaining('the server does not let Keyway in'),
    ]);
  });

  it.each([
    ['backup', 'x.jsonl'],
    ['restore', 'x.jsonl'],
    ['counters', 'export'],
    ['counters', 'import', 'x'],
  ])('keyway %s %s says that the server has them', async (...argv) => {
    const { code, complaints } = await runHere([...argv, '--upstream', 'http://127.0.0.1:9090/secret']);
    expect(code).toBe(2);
    expect(complaints).toContain('the running server at http://127.0.0.1:9090 has the keys and the counters');
  });

  it('refuses usage that is reported to the feed, and serves its keys', async () => {
    const { origin } = await startLiveServer('current');
    const feed = ['--feed-bind', '127.0.0.1:0', '--feed-token', 'feed-token'];
    const front = await serveInFront(`${origin}/panel`, BY_TOKEN, feed);
    const at = /"feed":"([^"]+)"/.exec(await front.log())?.[1] ?? '';
    const headers = { authorization: 'Bearer feed-token', 'content-type': 'application/json' };
    const usage = await fetch(`${at}/v1/usage`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ report_id: 'a', entries: [] }),
    });
    expect([usage.status, await usage.text()]).toEqual([400, expect.stringContaining('counts by itself')]);
    const keys = await (await fetch(`${at}/v1/keys`, { headers })).text();
    expect(keys).toContain('foreign-1');
  });

  it('refuses a replacement that would take the inbounds with keys away', async () => {
    const { origin, file } = await startLiveServer('0.3.7', {}, { listener: { token: TOKEN } });
    const sample = await readFile(join(import.meta.dirname, '../../fixtures/samples/server-0.3.21.jsonc'));
    const layout = JSON.parse(Buffer.concat(finish(compactJsonSteps(sample))).toString());
    const front = await serveInFront(`${origin}/panel`, BY_TOKEN);
    const put = (body: unknown) => front.ask('PUT', '/panel/api/server/config', `Bearer ${TOKEN}`, body);
    expect((await put(layout)).status).toBe(200);
    const present = await file();
    const { status, body } = await put(JSON.parse(SERVER_FILE));
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^Failed to write config file: .*inbound/)]);
    expect(await file()).toEqual(present);
  });
});
