import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createReadiness } from '../../src/core/readiness.js';
import { createOpsApp } from '../../src/ops/ops-app.js';
import { startOps } from '../../src/serve/ops.js';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { openRaw, rawRequest } from '../raw-client.js';
import { configurationOf, createLines, opsStage, startWith, TOKEN } from './stage.js';

/** An ops listener beside no gateway yet. */
async function alone(bind = '127.0.0.1:0', allowHosts: readonly string[] = []) {
  const readiness = createReadiness();
  const { log } = createLines();
  const ops = await startOps({ opsBind: bind, version: '9.8.7', readiness, allowHosts }, log);
  return { ops, readiness };
}

async function statusOf(url: string): Promise<readonly [number, unknown]> {
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  return [response.status, await response.json()];
}

describe('a request that the framework has no answer to', () => {
  it('is a 400 without a line in the log', async () => {
    const { log, lines } = createLines();
    const app = createOpsApp({
      readiness: createReadiness(),
      health: { problems: async () => [], kinds: () => ({}) },
      metrics: { contentType: 'text/plain', text: async () => '' },
      log,
      admitsHost: null,
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => app.close());
    // Which methods a parser lets through differs between versions of Node.
    app.server.prependListener('request', (asked) => {
      asked.method = 'PRI';
    });
    const [address] = app.addresses();
    const port = typeof address === 'object' ? address.port : 0;
    const client = await openRaw({ port, host: '127.0.0.1' });
    client.socket.write(rawRequest('GET', '*', { connection: 'close' }));
    expect(await client.ended).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(lines).toEqual([]);
  });

  it('with two Host headers is a 400', async () => {
    const { ops } = await alone();
    const client = await openRaw({ port: Number(new URL(ops.url).port), host: '127.0.0.1' });
    client.socket.write(rawRequest('GET', '/readyz', { Host: 'y' }));
    expect(await client.ended).toMatch(/^HTTP\/1\.1 400 .*more than one Host/s);
    await ops.close();
  });
});

describe('/readyz', () => {
  it('is 503 until the gateway is ready, and again while it stops', async () => {
    const { ops, readiness } = await alone();
    const url = `${ops.url}/readyz`;
    expect(await statusOf(url)).toEqual([503, { status: 'starting' }]);
    readiness.becomes('ready');
    expect(await statusOf(url)).toEqual([200, { status: 'ready' }]);
    readiness.becomes('stopping');
    expect(await statusOf(url)).toEqual([503, { status: 'stopping' }]);
    await ops.close();
  });

  it('says while a request is being finished that the gateway stops, and is gone after', async () => {
    const { gateway, ops } = await opsStage();
    expect(await statusOf(`${ops}/readyz`)).toEqual([200, { status: 'ready' }]);
    const authorization = `Bearer ${TOKEN}`;
    const headers = {
      authorization,
      'content-type': 'application/json',
      'content-length': 2,
      expect: '100-continue',
      connection: 'close',
    };
    const held = request(`${gateway.url}/panel/api/users`, { method: 'POST', headers });
    const answered = new Promise<number | undefined>((done, failed) => {
      held.on('response', (response) => done(response.resume().statusCode)).on('error', failed);
    });
    // By this the server says that it has the head and waits for the body.
    await new Promise((done) => held.on('continue', done).flushHeaders());
    const closed = gateway.close();
    expect(await statusOf(`${ops}/readyz`)).toEqual([503, { status: 'stopping' }]);
    held.end('{}');
    expect(await answered).toBe(200);
    await closed;
    await expect(fetch(`${ops}/readyz`)).rejects.toThrow();
  });
});

describe('the ops listener', () => {
  it('answers GET and HEAD alone, and three paths alone, in plain text', async () => {
    const { ops } = await opsStage();
    const ask = async (method: string, path: string, body?: string) => {
      const response = await fetch(ops + path, { method, ...(body === undefined ? {} : { body }) });
      return [response.status, response.headers.get('content-type'), await response.text()];
    };
    const text = 'text/plain; charset=utf-8';
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await ask('GET', `${path}?verbose=1`))[0]).toBe(200);
      const [status, , body] = await ask('HEAD', path);
      expect([status, body]).toEqual([200, '']);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const answer = await ask(method, path, method === 'OPTIONS' ? undefined : '{"x":1}');
        expect(answer).toEqual([405, text, 'method not allowed: use GET or HEAD\n']);
      }
    }
    const missing = [404, text, 'not found: there are /healthz, /readyz, /metrics\n'];
    for (const path of ['/', '/metrics/', '/panel/api/users', '/healthz/x']) {
      expect(await ask('GET', path), path).toEqual(missing);
      expect(await ask('POST', path, 'x'), path).toEqual(missing);
    }
  });

  it('names the methods that it has, keeps nothing in caches, and tells the format of its metrics', async () => {
    const { ops } = await opsStage();
    const refused = await fetch(`${ops}/metrics`, { method: 'POST' });
    expect(refused.headers.get('allow')).toBe('GET, HEAD');
    const { headers } = await fetch(`${ops}/metrics`);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('answers to the hosts that are named, to addresses and to localhost, where any are named', async () => {
    const { ops } = await alone('127.0.0.1:0', ['metrics.example.org']);
    const { port } = new URL(ops.url);
    const ask = (host: string) =>
      new Promise((done) => {
        const asked = request({ port, path: '/metrics', headers: { host } }, (response) => {
          response
            .setEncoding('utf8')
            .once('data', (text: string) => done([response.statusCode, text.split('\n', 1)[0]]));
        });
        asked.end();
      });
    const misdirected = 'misdirected request: its host is not one of the names given with --allow-host';
    expect(await ask('rebound.example')).toEqual([421, misdirected]);
    for (const host of ['metrics.example.org:9100', `127.0.0.1:${port}`, 'localhost'])
      expect(await ask(host), host).toEqual([200, expect.stringMatching(/^# HELP/)]);
    await ops.close();
  });

  it('listens on a Unix socket', async () => {
    const path = join(await folderForTest(), 'ops.sock');
    const { ops } = await alone(`unix:${path}`);
    const status = await new Promise((done) => {
      request({ socketPath: path, path: '/healthz' }, (response) => done(response.resume().statusCode)).end();
    });
    expect([ops.url, status]).toEqual([`unix:${path}`, 200]);
    await ops.close();
  });
});

describe('an address for the ops listener', () => {
  const refusal = async (...argv: string[]) => {
    const { log } = createLines();
    return startWith(argv, log).then(
      () => 'it started',
      (error: unknown) => error,
    );
  };

  it("that is the API's or the feed's is refused in one line, and nothing listens", async () => {
    const configPath = join(await folderForTest(), 'server.json');
    const free = await freePort();
    await writeFile(configPath, configurationOf({ api: { enabled: true, token: 't', bind: `127.0.0.1:${free}` } }));
    const own = ['--config', configPath, '--ops-bind', `127.0.0.1:${free}`];
    const cases = [
      [own, `(127.0.0.1:${free})`],
      [[...own, '--bind', `0.0.0.0:${free}`, '--allow-open'], `--bind (0.0.0.0:${free})`],
      [
        [...own, '--bind', '127.0.0.1:0', '--feed-bind', `127.0.0.1:${free}`, '--feed-token', 'f'],
        `--feed-bind (127.0.0.1:${free})`,
      ],
    ] as const;
    for (const [argv, other] of cases) {
      const problem = `${other} and --ops-bind (127.0.0.1:${free}) are the same address: give one of them another`;
      expect(await refusal(...argv)).toMatchObject({ problems: [expect.stringContaining(problem)] });
      await expect(fetch(`http://127.0.0.1:${free}/readyz`)).rejects.toThrow();
    }
  });

  it('that somebody else has is refused in one line', async () => {
    const taken = createServer();
    const port = await listening(taken);
    const configPath = join(await folderForTest(), 'server.json');
    await writeFile(configPath, configurationOf({}));
    expect(
      await refusal('--config', configPath, '--bind', '127.0.0.1:0', '--ops-bind', `127.0.0.1:${port}`),
    ).toMatchObject({
      problems: [
        `the ops listener cannot listen on 127.0.0.1:${port} (EADDRINUSE): give it another address with --ops-bind`,
      ],
    });
    await new Promise((done) => taken.close(done));
  });
});

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it has no port');
  return address.port;
}
