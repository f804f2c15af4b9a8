import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { type Running, runKeyway, startKeyway } from '../commands/process.js';
import { CERTIFICATE } from '../dns/certificate.js';
import { PASSWORD, SERVER_FILE, TOKEN, USERNAME } from '../lab/live-server.js';
import { PROXIES, type StartedProxy } from './proxy-servers.js';

const REVISIONS = ['dns@secret/old', 'current@secret/new'] as const;
/** More failed logins than the scenarios make. */
const FAILURES = 30;
const FEED_TOKEN = 'feed-token';
const FEED = { authorization: `Bearer ${FEED_TOKEN}` };
const BEARER = { authorization: `Bearer ${TOKEN}` };
const JSON_BODY = { ...BEARER, 'content-type': 'application/json' };

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

for (const { name, program } of PROXIES) {
  if (program === null) process.stderr.write(`skipped without ${name}: docs/proxy, played through it\n`);
}

describe.each(PROXIES)('behind $name, configured as docs/proxy has it', ({ name, program, start }) => {
  let folder = '';
  let gateway: Running;
  let proxy: StartedProxy;

  beforeAll(async () => {
    if (program === null) return;
    await buildIfOlder();
    folder = await mkdtemp(join(tmpdir(), 'keyway-proxy-'));
    await writeFile(join(folder, 'server.jsonc'), SERVER_FILE);
    const socket = join(folder, 'api.sock');
    const mounts = REVISIONS.flatMap((text) => ['--revision', text]);
    const argv = ['serve', '--config', 'server.jsonc', '--bind', `unix:${socket}`, '--trust-proxy', 'unix', ...mounts];
    const feed = ['--feed-bind', '127.0.0.1:0', '--feed-token', FEED_TOKEN];
    gateway = startKeyway([...argv, ...feed, '--no-resolver', '--login-guard', `${FAILURES}/5`], { folder });
    const feedUrl = new URL(String((await gateway.logged((record) => record.feed !== undefined)).feed));
    await gateway.logged(({ url }) => url !== undefined);
    proxy = await start(program, folder, { socket, feed: feedUrl.host });
  }, 300_000);

  afterAll(async () => {
    if (program === null) return;
    await proxy.stop();
    gateway.child.kill('SIGTERM');
    expect((await gateway.ended).code).toBe(0);
    await rm(folder, { recursive: true });
  });

  /**
   * One request as its bytes are given: the path is not put in order. On a connection of its own, because nginx closes one
   * on which an answer came before the body's end.
   */
  function ask(path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
    return new Promise<{ status: number; headers: IncomingMessage['headers']; bytes: Buffer }>((resolve, reject) => {
      const target = {
        host: '127.0.0.1',
        port: proxy.port,
        ca: CERTIFICATE,
        agent: false as const,
        path,
        method,
        headers,
      };
      const sent = request(target, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(parts) }),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  const json = async (path: string, asked: Asked = {}) => {
    const { status, bytes } = await ask(path, { headers: JSON_BODY, ...asked });
    return { status, ...JSON.parse(bytes.toString()) };
  };

  // Before the scenarios: they show more wrong tokens than an address may before one that is new to it is refused.
  it.skipIf(program === null)('a tunnel server waits at the feed until a key comes, and reports', async () => {
    const first = await ask('/v1/keys', { headers: FEED });
    const known = { ...FEED, 'if-none-match': String(first.headers.etag) };
    const waiting = ask('/v1/keys?wait=300', { headers: known });
    const create = { method: 'POST', body: '{"access_key":"waited-for"}' };
    expect(await json('/secret/new/api/users', create)).toMatchObject({ status: 200 });
    expect((await waiting).bytes.toString()).toContain('waited-for');
    const body = JSON.stringify({ entries: [{ access_key: 'waited-for', bytes_up: 5, bytes_down: 6 }] });
    const report = { method: 'POST', headers: { ...FEED, 'content-type': 'application/json' }, body };
    expect((await ask('/v1/usage', report)).status).toBe(200);
    expect((await ask('/v1/keys')).status).toBe(401);
  });

  it.skipIf(program === null).each(REVISIONS)(
    'the scenarios of %s, played with leave to write, are equal',
    async (text) => {
      const [revision = '', webpath = ''] = text.split('@');
      const target = `https://127.0.0.1:${proxy.port}/${webpath}`;
      const argv = ['replay', '--target', target, '--revision', revision, '--username', USERNAME, '--token', TOKEN];
      const played = await runKeyway([...argv, '--writes', '--reporter', 'json'], {
        folder,
        environment: { KEYWAY_PASSWORD: PASSWORD, NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') },
      });
      expect(played.code, played.output.slice(-4000) + played.complaints).toBe(0);
      const { summary } = JSON.parse(played.output) as { summary: { equal: number } };
      process.stdout.write(`${summary.equal} scenarios of ${revision} played through ${name}\n`);
      expect(summary.equal).toBeGreaterThan(30);
    },
    300_000,
  );

  it.skipIf(program === null)(
    'keys of every spelling are created, read, shared and deleted by their path',
    async () => {
      const keys = [
        'a/b',
        'a%2Fb',
        'a b+c',
        '100%',
        '?x=1#y',
        '~!$&()*,;=:@',
        '"\\<>^`{|}',
        'ключ',
        '../x',
        '.',
        'é'.repeat(5_000),
      ];
      for (const key of keys) {
        const path = `/secret/new/api/users/${encodeURIComponent(key)}`;
        const short = key.slice(0, 20);
        const create = { method: 'POST', body: JSON.stringify({ access_key: key }) };
        expect(await json('/secret/new/api/users', create), short).toMatchObject({ status: 200, data: key });
        expect(await json(path), short).toMatchObject({ status: 200, data: { access_key: key } });
        const shared = await json(path.replace('/users/', '/subscribe/'));
        expect(shared, short).toMatchObject({ status: 200, data: { access_key: key } });
        expect(await json(path, { method: 'DELETE' }), short).toMatchObject({ status: 200 });
      }
    },
  );

  it.skipIf(program === null)(
    'a configuration of 40 MB goes in and comes out, and a list of megabytes whole',
    async () => {
      const before = await json('/secret/new/api/server/config');
      const access_keys = Array.from({ length: 20_000 }, (_, index) => `key-${index}`);
      const body = JSON.stringify({ ...JSON.parse(SERVER_FILE), access_keys, padding: 'x'.repeat(40_000_000) });
      expect(await json('/secret/new/api/server/config', { method: 'PUT', body })).toMatchObject({ status: 200 });
      expect((await json('/secret/new/api/server/config')).data).toEqual(JSON.parse(body));
      const { data } = await json('/secret/new/api/users');
      expect(data).toHaveLength(20_000);
      const restore = { method: 'PUT', body: JSON.stringify(before.data) };
      expect(await json('/secret/new/api/server/config', restore)).toMatchObject({ status: 200 });
    },
  );

  it.skipIf(program === null)(
    'a body that is too large, a caller without a token and paths beside it are refused',
    async () => {
      const large = { method: 'POST', body: Buffer.alloc(2_000_000, 32) };
      expect(await json('/secret/new/api/users', large)).toMatchObject({ status: 413, ok: false });
      const stranger = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' };
      expect((await ask('/secret/new/api/server/config', stranger)).status).toBe(401);
      for (const path of ['/', '/secrets', '/secret-old/api/users', '/api/users', '/secret/../api/users'])
        expect((await ask(path, { headers: BEARER })).status, path).toBe(404);
    },
  );

  it.skipIf(program === null)('the panel, its redirect and a HEAD are as without it', async () => {
    const { status, headers } = await ask('/secret/new');
    expect([status, headers.location]).toEqual([308, '/secret/new/']);
    expect((await ask('/secret/new/')).headers['content-security-policy']).toMatch(/default-src/);
    const head = await ask('/secret/new/api/users', { method: 'HEAD', headers: BEARER });
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
  });

  it.skipIf(program === null)('the login guard sees the caller, not what the caller made up', async () => {
    const login = (forwarded: string) => {
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': forwarded };
      const body = JSON.stringify({ username: USERNAME, password: 'wrong' });
      return ask('/secret/new/api/login', { method: 'POST', headers, body });
    };
    for (let failure = 0; failure < FAILURES; failure += 1) await login(`192.0.2.${failure}`);
    expect((await login('192.0.2.100')).headers['retry-after']).toMatch(/^\d+$/);
    expect(gateway.log().every(({ address }) => address === undefined || address === '127.0.0.1')).toBe(true);
  });

  it.skipIf(program === null)('no access key stands in what the proxy writes', async () => {
    await ask('/secret/new/api/subscribe/foreign-1');
    const files = (await readdir(folder)).filter((name) => name.endsWith('.log'));
    const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
    expect([proxy.output(), ...texts].join()).not.toContain('foreign-1');
  });
});
