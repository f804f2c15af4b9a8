import { once } from 'node:events';
import { copyFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request as plainRequest, type RequestOptions, STATUS_CODES } from 'node:http';
import { request as secureRequest } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { openRaw } from '../raw-client.js';
import { SECOND_CERTIFICATE, SECOND_KEY } from '../serve/second-certificate.js';
import { type ServedHere, serveHere } from '../serve/serve-here.js';
import { WHOLE } from '../whole.js';
import { startKeyway } from './process.js';

let folder = '';
beforeAll(buildIfOlder, 300_000);
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  await writeFile(join(folder, 'cert.pem'), CERTIFICATE);
  await writeFile(join(folder, 'key.pem'), PRIVATE_KEY);
});

const SERVE = ['serve', '--config', 'server.jsonc', '--no-resolver'];
const PORT = ['--bind', '127.0.0.1:0'];
const TLS = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'];
const TOKEN = { authorization: 'Bearer sample-static-token' };

/** Serves in this process, and waits until it listens. */
async function listening(argv: readonly string[]) {
  const serving = await serveHere([...SERVE, ...argv], { folder });
  const url = await serving.url;
  const errors = async () => (await serving.log()).filter(({ level }) => level === 'error');
  return { ...serving, url, errors };
}

/** The same in a process of its own, for what signals and the end of a process do. */
async function listeningApart(argv: readonly string[]) {
  const started = startKeyway([...SERVE, ...argv], { folder });
  onTestFinished(async () => {
    started.child.kill('SIGKILL');
    await started.ended;
  });
  const { url } = await started.logged((record) => typeof record.url === 'string');
  return { ...started, url: String(url) };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** One request over a connection of its own; `ca` makes it one with TLS. */
function ask(target: RequestOptions & { readonly ca?: string }, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const send = target.ca === undefined ? plainRequest : secureRequest;
    const asked = send({ host: '127.0.0.1', agent: false, ...target }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const portOf = (url: string) => Number(new URL(url).port);

/** What the log says beside the API's own address: it is there once that one listens. */
async function named(log: ServedHere['log'], member: string): Promise<string> {
  const record = (await log()).find((each) => member in each);
  return String(record?.[member]);
}

/** The name in the certificate that a connection is given. */
function nameServed(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      const { subject }: DetailedPeerCertificate = socket.getPeerCertificate(true);
      socket.destroy();
      resolve(String(subject.CN));
    });
    socket.on('error', reject);
  });
}

/** The only line of the log that says why nothing is served; exit code 1. */
async function refusal(argv: readonly string[], command: readonly string[] = SERVE): Promise<string> {
  const refused = await serveHere([...command, ...argv], { folder });
  const { code } = await refused.ended;
  const errors = (await refused.log()).filter(({ level }) => level === 'error');
  expect({ code, errors: errors.length }, await refused.text()).toEqual({ code: 1, errors: 1 });
  return String(errors[0]?.msg);
}

describe('--tls-cert and --tls-key', () => {
  it('serve the API over HTTPS, say so in the address, and log in as ever', async () => {
    const { url } = await listening([...PORT, ...TLS]);
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const target = { port: portOf(url), ca: CERTIFICATE };
    expect((await ask({ ...target, path: '/panel/api/users', headers: TOKEN })).status).toBe(200);
    const login = { ...target, path: '/panel/api/login', method: 'POST' };
    const body = JSON.stringify({ username: 'admin', password: 'password' });
    const { text } = await ask({ ...login, headers: { 'content-type': 'application/json' } }, body);
    const { data } = JSON.parse(text) as { data: { token: string } };
    const session = { authorization: `Bearer ${data.token}` };
    expect((await ask({ ...target, path: '/panel/api/users', headers: session })).status).toBe(200);
  });

  it('speak HTTP/1.1 over TLS 1.2 and 1.3, and nothing older', async () => {
    const port = portOf((await listening([...PORT, ...TLS])).url);
    const handshake = (maxVersion: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') =>
      new Promise<string>((resolve) => {
        const offer = { minVersion: 'TLSv1' as const, maxVersion, ciphers: 'DEFAULT:@SECLEVEL=0' };
        const options = { port, host: '127.0.0.1', ca: CERTIFICATE, ALPNProtocols: ['h2', 'http/1.1'], ...offer };
        const socket = connect(options, () => {
          resolve(`${socket.getProtocol()} ${socket.alpnProtocol || 'none'}`);
          socket.destroy();
        });
        socket.on('error', () => resolve('refused'));
      });
    expect(await handshake('TLSv1.1')).toBe('refused');
    expect(await handshake('TLSv1.2')).toBe('TLSv1.2 http/1.1');
    expect(await handshake('TLSv1.3')).toBe('TLSv1.3 http/1.1');
  });

  it('end a connection that speaks plainly, and go on serving', async () => {
    const { url, errors } = await listening([...PORT, ...TLS]);
    const port = portOf(url);
    await expect(ask({ port, path: '/panel/api/users' })).rejects.toThrow();
    const socket = connectPlain(port, '127.0.0.1').on('error', () => undefined);
    socket.write('\u0000 no TLS at all');
    await once(socket, 'close');
    expect((await ask({ port, ca: CERTIFICATE, path: '/panel/' })).status).toBe(200);
    expect(await errors()).toEqual([]);
  });

  if (WHOLE)
    it('are read again at SIGHUP: new connections get the new certificate, those that are open go on', async () => {
      const { url, child, logged, log } = await listeningApart([...PORT, ...TLS, '--subscription-bind', '127.0.0.1:0']);
      const port = portOf(url);
      const { subscriptions } = await logged((record) => record.subscriptions !== undefined);
      const open = connect({ port, host: '127.0.0.1', ca: CERTIFICATE });
      await once(open, 'secureConnect');
      expect(await nameServed(port)).toBe('doh.test');
      await writeFile(join(folder, 'cert.pem'), SECOND_CERTIFICATE);
      await writeFile(join(folder, 'key.pem'), SECOND_KEY);
      child.kill('SIGHUP');
      const line = await logged(({ msg }) => String(msg).includes('read again'));
      expect(line).toMatchObject({ level: 'info', certificate: join(folder, 'cert.pem'), valid_to: /^2126-/ });
      expect(await nameServed(port)).toBe('second.test');
      expect(await nameServed(portOf(String(subscriptions)))).toBe('second.test');
      open.write('GET /panel/ HTTP/1.1\r\nHost: x\r\n\r\n');
      const [answer] = await once(open, 'data');
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200/);
      open.destroy();
      expect(log().filter(({ level }) => level === 'error')).toEqual([]);
    });

  it.each([
    ['is no certificate', 'cert.pem', 'nonsense', /--tls-cert: expected a certificate in PEM.*cert\.pem/],
    ['is gone', 'cert.pem', null, /--tls-cert: cannot read .*cert\.pem.*ENOENT/],
    ['does not belong to the key', 'cert.pem', SECOND_CERTIFICATE, /--tls-key: the key in .* does not belong/],
  ])('leave the certificate before in its place when at SIGHUP it %s, with one line in the log', async (_what, name, content, expected) => {
    const { url, hangUp, errors } = await listening([...PORT, ...TLS]);
    if (content === null) await rm(join(folder, name));
    else await writeFile(join(folder, name), content);
    hangUp();
    await expect.poll(async () => (await errors()).length).toBe(1);
    const [line] = await errors();
    expect(String(line?.msg)).toMatch(expected);
    expect(String(line?.msg)).toMatch(/the certificate before goes on being served$/);
    expect(await nameServed(portOf(url))).toBe('doh.test');
    expect(await errors()).toHaveLength(1);
  });

  if (WHOLE)
    it('that cannot be used are one line at start, exit code 1', async () => {
      await writeFile(join(folder, 'other.pem'), SECOND_KEY);
      await writeFile(join(folder, 'broken.pem'), PRIVATE_KEY.replace('MIGH', 'XXXX'));
      const refused = (cert: string, key: string) => refusal([...PORT, '--tls-cert', cert, '--tls-key', key]);
      expect(await refused('none.pem', 'key.pem')).toMatch(/^--tls-cert: cannot read .*none\.pem.*ENOENT/);
      expect(await refused('cert.pem', '.')).toMatch(/^--tls-key: cannot read .*EISDIR/);
      expect(await refused('key.pem', 'key.pem')).toMatch(/^--tls-cert: expected a certificate in PEM.*key\.pem$/);
      expect(await refused('cert.pem', 'broken.pem')).toMatch(
        /^--tls-key: expected a private key in PEM.*broken\.pem$/,
      );
      expect(await refused('cert.pem', 'other.pem')).toMatch(/^--tls-key: the key in .*other\.pem does not belong/);
    });
});

describe('SIGHUP', () => {
  it('without a certificate changes nothing and ends nothing', async () => {
    const { url, hangUp, text } = await listening(PORT);
    hangUp();
    await expect.poll(text).toContain('nothing is to be read again');
    expect((await fetch(`${url}/panel/api/users`, { headers: TOKEN })).status).toBe(200);
  });
});

describe('--bind unix:PATH', () => {
  it('serves the API for its owner and group alone, and removes the socket at the end', async () => {
    const { url, stop, log } = await listening(['--bind', 'unix:api.sock']);
    const socketPath = join(folder, 'api.sock');
    expect(url).toBe(`unix:${socketPath}`);
    expect((await stat(socketPath)).mode & 0o777).toBe(0o660);
    const { status, text } = await ask({ socketPath, path: '/panel/api/subscribe/guest-2026' });
    // What clients are told stands in the file.
    expect([status, JSON.parse(text)]).toMatchObject([200, { data: { server: expect.stringMatching(/^[^/]+:\d+$/) } }]);
    const started = (await log()).find((record) => record.url !== undefined);
    expect(started?.mounts).toMatchObject([{ api: `/panel/api on unix:${socketPath}` }]);
    expect((await stop()).code).toBe(0);
    await expect(stat(socketPath)).rejects.toThrow('ENOENT');
  });

  if (WHOLE)
    it('beside a socket that answers or a file says so; one that a killed gateway left is replaced', async () => {
      const first = await listeningApart(['--bind', 'unix:api.sock']);
      await copyFile(join(folder, 'server.jsonc'), join(folder, 'second.jsonc'));
      const second = (bind: string) => refusal(['--bind', bind], ['serve', '--config', 'second.jsonc']);
      expect(await second('unix:api.sock')).toMatch(/the API cannot listen on .*another process listens there.*--bind/);
      expect(await second('unix:cert.pem')).toMatch(/a file that is no socket stands there/);
      expect(await readFile(join(folder, 'cert.pem'), 'utf8')).toBe(CERTIFICATE);
      first.child.kill('SIGKILL');
      await first.ended;
      const again = await listening(['--bind', 'unix:api.sock']);
      expect((await again.log()).some(({ msg }) => String(msg).startsWith('replaced a socket'))).toBe(true);
      expect((await ask({ socketPath: join(folder, 'api.sock'), path: '/panel/' })).status).toBe(200);
    });

  if (WHOLE)
    it('believes X-Forwarded-For with --trust-proxy unix alone, and says so where the guard needs it', async () => {
      const failed = async (argv: readonly string[], forwarded: string) => {
        const login = { socketPath: join(folder, 'api.sock'), path: '/panel/api/login', method: 'POST' };
        const headers = { 'content-type': 'application/json', 'x-forwarded-for': forwarded };
        const body = JSON.stringify({ username: 'admin', password: 'wrong' });
        return { argv, retry: (await ask({ ...login, headers }, body)).headers['retry-after'] };
      };
      const addressesIn = (serving: Pick<ServedHere, 'log'>) => async () =>
        (await serving.log()).map(({ address }) => address);
      const argv = ['--bind', 'unix:api.sock', '--login-guard', '1/5'];
      const trusting = await listening([...argv, '--trust-proxy', 'unix']);
      expect(await failed(argv, '192.0.2.1')).toMatchObject({ retry: expect.any(String) });
      await expect.poll(addressesIn(trusting)).toContain('192.0.2.1');
      expect(await trusting.text()).not.toContain('--trust-proxy unix');
      await trusting.stop();
      const other = await listening(argv);
      expect(await other.text()).toContain('--trust-proxy unix');
      await failed(argv, '192.0.2.1');
      await expect.poll(addressesIn(other)).toContain('unix');
    });
});

describe('a file without credentials, where a proxy passes others on', () => {
  const BEHIND = [
    { where: 'a Unix socket', argv: ['--bind', 'unix:api.sock'], reason: /a proxy may pass others on to unix:/ },
    { where: '--trust-proxy', argv: [...PORT, '--trust-proxy', '::1'], reason: /a proxy passes others on/ },
  ] as const;
  const targetOf = (url: string) =>
    url.startsWith('unix:') ? { socketPath: url.slice('unix:'.length) } : { port: portOf(url) };

  it.each(BEHIND)('$where: is refused at the start, and served with --allow-open', async ({ argv, reason }) => {
    await writeFile(join(folder, 'server.jsonc'), '{ "mode": "server", "access_keys": [] }');
    const words = await refusal(argv);
    expect(words).toMatch(reason);
    expect(words).toContain('set token, or username and password_hash, or allow it with --allow-open');
    const { url } = await listening([...argv, '--allow-open']);
    expect((await ask({ ...targetOf(url), path: '/panel/api/users' })).status).toBe(200);
  });

  it.each(BEHIND)('$where: refuses everyone from the PUT or the edit on that left them out', async ({
    argv,
    reason,
  }) => {
    const path = join(folder, 'server.jsonc');
    const before = await readFile(path, 'utf8');
    const { url, log } = await listening(argv);
    const users = { ...targetOf(url), path: '/panel/api/users' };
    const refusals = async () => (await log()).filter(({ msg }) => /until then it refuses everyone/.test(String(msg)));
    const statuses = async () => [(await ask(users)).status, (await ask({ ...users, headers: TOKEN })).status];
    const put = { ...users, path: '/panel/api/server/config', method: 'PUT' };
    const withBody = { headers: { ...TOKEN, 'content-type': 'application/json' } };
    expect((await ask({ ...put, ...withBody }, '{"mode":"server","access_keys":["a"]}')).status).toBe(200);
    expect(await statuses()).toEqual([401, 401]);
    await expect.poll(async () => String((await refusals())[0]?.msg)).toMatch(reason);
    await writeFile(path, before);
    await expect.poll(statuses).toEqual([401, 200]);
    await writeFile(path, '{ "mode": "server", "access_keys": ["a", "b"] }');
    await expect.poll(statuses).toEqual([401, 401]);
    await expect.poll(async () => (await refusals()).length).toBe(2);
  });
});

describe('--allow-host', () => {
  it('holds for the API, the subscriptions and the ops listener, and not for the feed', async () => {
    const addresses = ['--subscription-bind', '127.0.0.1:0', '--ops-bind', '127.0.0.1:0', '--feed-bind', '127.0.0.1:0'];
    const names = ['--allow-host', 'panel.example.org', '--allow-host', 'Metrics.Example.org'];
    const argv = [...PORT, ...addresses, '--feed-token', 'feed-secret', ...names];
    const { url, log } = await listening(argv);
    const portNamed = async (member: string) => portOf(await named(log, member));
    const asked = [
      { port: portOf(url), path: '/panel/', others: 421 },
      { port: await portNamed('subscriptions'), path: '/panel/api/subscribe/guest-2026', others: 421 },
      { port: await portNamed('ops'), path: '/healthz', others: 421 },
      { port: await portNamed('feed'), path: '/v1/keys', others: 200 },
    ];
    for (const { others, ...target } of asked) {
      const status = async (host: string) =>
        (await ask({ ...target, headers: { host, authorization: 'Bearer feed-secret' } })).status;
      expect(await status('metrics.example.org'), target.path).toBe(200);
      expect(await status('rebound.example'), target.path).toBe(others);
    }
  });
});

describe('--subscription-bind', () => {
  const ALONE = ['--subscription-bind', '127.0.0.1:0', '--revision', 'earliest', '--revision', 'current@new'];

  it('serves the subscriptions of every revision, from the same keys, and nothing else', async () => {
    const { url, log } = await listening([...PORT, ...ALONE]);
    const alone = await named(log, 'subscriptions');
    expect(alone).toMatch(/^http:\/\/127/);
    const links = async (origin: string) => {
      const paths = ['/api/subscribe/guest-2026', '/new/api/subscribe/guest-2026'];
      const answers = paths.map((path) => fetch(origin + path, { headers: { accept: 'text/plain' } }));
      return Promise.all((await Promise.all(answers)).map(async (answer) => [answer.status, await answer.text()]));
    };
    expect(await links(alone)).toEqual(await links(url));
    expect((await links(alone)).map(([status]) => status)).toEqual([200, 200]);

    const create = { method: 'POST', headers: { ...TOKEN, 'content-type': 'application/json' } };
    const made = await fetch(`${url}/api/users`, { ...create, body: '{"access_key":"a/b"}' });
    expect(made.status).toBe(200);
    expect((await fetch(`${alone}/api/subscribe/a%2Fb`)).status).toBe(200);
    expect((await fetch(`${alone}/api/subscribe/nobody`)).status).toBe(404);
    expect((await fetch(`${alone}/api/subscribe/a%2Fb`, { method: 'HEAD' })).status).toBe(200);
  });

  it('answers 404 to everything else, as if nothing were there', async () => {
    const { url, log } = await listening([...PORT, ...ALONE]);
    const alone = await named(log, 'subscriptions');
    const others = ['/', '/new', '/new/', '/new/index.html', '/new/api', '/new/api/users', '/api/users', '/api/'];
    const status = async (path: string, method = 'GET', more: Readonly<Record<string, string>> = {}) =>
      (await fetch(alone + path, { method, redirect: 'manual', headers: { ...TOKEN, ...more } })).status;
    for (const path of [...others, '/new/api/login', '/new/api/audit', '/new/api/subscribe/', '/new/api/subscribe'])
      expect(await status(path), path).toBe(404);
    for (const method of ['POST', 'PUT', 'DELETE']) expect(await status('/new/api/users', method), method).toBe(404);
    const preflight = { origin: 'https://panel.example', 'access-control-request-method': 'GET' };
    expect(await status('/new/api/users', 'OPTIONS', preflight)).toBe(404);
    expect(await status('/new/api/subscribe/guest-2026', 'OPTIONS', preflight)).toBe(200);
    // The path is known to whoever has a link; only the method is wrong.
    expect(await status('/new/api/subscribe/guest-2026', 'DELETE')).toBe(405);
    expect((await fetch(`${url}/new/api/users`, { headers: TOKEN })).status).toBe(200);
  });

  it.each([
    ['no HTTP', 'what?\r\n\r\n', 400],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: z\r\n\r\n', 417],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 404],
  ])('answers %s as a plain web server does', async (_what, request, status) => {
    const { log } = await listening([...PORT, ...ALONE]);
    const client = await openRaw({ host: '127.0.0.1', port: portOf(await named(log, 'subscriptions')) });
    client.socket.write(request);
    const said = await client.ended;
    expect(said).toContain(`<html><body><h1>${status} ${STATUS_CODES[status]}</h1></body></html>`);
    expect(said).not.toMatch(/json|access-control|allow:/i);
  });

  it('goes on over TLS while the API is on a Unix socket, and both end with the command', async () => {
    const argv = ['--bind', 'unix:api.sock', '--subscription-bind', '127.0.0.1:0', ...TLS];
    const { log, stop } = await listening(argv);
    const alone = await named(log, 'subscriptions');
    expect(alone).toMatch(/^https:/);
    const path = '/panel/api/subscribe/guest-2026';
    expect((await ask({ port: portOf(alone), ca: CERTIFICATE, path })).status).toBe(200);
    expect((await ask({ socketPath: join(folder, 'api.sock'), path })).status).toBe(200);
    const idle = connect({ port: portOf(alone), host: '127.0.0.1', ca: CERTIFICATE });
    await once(idle, 'secureConnect');
    expect((await stop()).code).toBe(0);
    idle.destroy();
  });

  it('without a configuration file, or at an address that is taken, is one line at start, exit code 1', async () => {
    expect(await refusal([...PORT, '--subscription-bind', '127.0.0.1:0'], ['serve', '--no-config'])).toMatch(
      /--subscription-bind: expected a configuration file/,
    );
    const same = ['--bind', '127.0.0.1:39090'];
    expect(await refusal([...same, '--subscription-bind', '0.0.0.0:39090'])).toBe(
      '--bind (127.0.0.1:39090) and --subscription-bind (0.0.0.0:39090) are the same address: give one of them another',
    );
    expect(await refusal([...same, '--feed-bind', '127.0.0.1:39090', '--feed-token', 't'])).toMatch(
      /--bind .* and --feed-bind .* are the same address/,
    );
    const text = await readFile(join(folder, 'server.jsonc'), 'utf8');
    const [, bind = ''] = /"bind": "([^"]+)"/.exec(text) ?? [];
    expect(await refusal(['--subscription-bind', bind])).toMatch(/^the API's own address \(/);
    expect(await refusal([...PORT, '--subscription-bind', 'unix:cert.pem'])).toMatch(
      /^the subscription listener cannot listen on .*no socket stands there.*--subscription-bind$/,
    );
  });
});
