import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codePoint } from '../code-points.js';
import { openRaw } from '../raw-client.js';
import { tries } from '../tries.js';
import { gatewayForTest, listen } from './gateway.js';
import { exchange } from './raw-exchange.js';

const current = { mounts: [{ revision: 'current' }] };
const API = '/panel/api';

const post = (path: string, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
  ({ method: 'POST', url: `${API}${path}`, headers, payload: body }) as const;

describe('a body that is not what was expected', () => {
  it('is a 400 of POST /users that names the member, and makes no key', async () => {
    const app = await gatewayForTest(current);
    for (const [body = '', error] of [
      ['{', /^body is no JSON: .*line 1 column/],
      ['', /^body is missing: expected a JSON object$/],
      ['[]', /^body: expected a JSON object$/],
      ['null', /^body: expected a JSON object$/],
      ['"a"', /^body: expected a JSON object$/],
      ['{"access_key":5}', /^access_key: expected a string that is not empty, or null$/],
      ['{"access_key":""}', /^access_key: expected a string that is not empty, or null$/],
      ['{"name":{}}', /^name: expected a string or null$/],
      ['{"limit_bytes":-1}', /^limit_bytes: expected an unsigned 64-bit integer or null$/],
      ['{"limit_bytes":1.5}', /^limit_bytes: /],
      ['{"limit_bytes":1e3}', /^limit_bytes: /],
      ['{"limit_bytes":-0}', /^limit_bytes: /],
      ['{"limit_bytes":"5"}', /^limit_bytes: /],
      ['{"limit_bytes":true}', /^limit_bytes: /],
      ['{"limit_bytes":18446744073709551616}', /^limit_bytes: /],
      ['{"name":"a","name":"b"}', /^body is no JSON: .*name/],
      ['{"a":1,}', /^body is no JSON: /],
      ['\ufeff{}', /^body is no JSON: /],
      [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, /^body is no JSON: .*deep/],
      ['{"a":"\u0001"}', /^body is no JSON: /],
    ] as const) {
      const answer = await app.inject(post('/users', body));
      expect(answer.statusCode, body).toBe(400);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.json(), body).toEqual({ ok: false, error: expect.stringMatching(error) });
    }
    expect(app.keyway.core.keys.size).toBe(0);
  });

  it('a wrong element of a list is named by its place', async () => {
    const app = await gatewayForTest(current);
    const url = `${API}/router/rules`;
    const payload = [{ action: 'direct' }, { action: 'drop' }];
    const answer = await app.inject({ method: 'PUT', url, payload });
    expect(answer.json().error).toBe('body[1].action: expected one of "proxy", "direct", "block"');
  });

  it('a `__proto__` member is an unknown member like any other and reaches no prototype', async () => {
    const app = await gatewayForTest(current);
    const answer = await app.inject(
      post('/users', '{"access_key":"a","__proto__":{"name":"polluted"},"constructor":1}'),
    );
    expect(answer.json()).toEqual({ ok: true, data: 'a' });
    expect(app.keyway.core.keys.get('a')?.name).toBeNull();
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('name');
  });

  it('of another Content-Type answers 400 and says that JSON is expected', async () => {
    const app = await gatewayForTest(current);
    for (const contentType of [
      undefined,
      'text/plain',
      'application/x-www-form-urlencoded',
      ';;;',
      'application/jsonx',
      'multipart/form-data',
    ]) {
      const answer = await app.inject(
        post('/users', '{}', contentType === undefined ? {} : { 'content-type': contentType }),
      );
      expect(answer.statusCode, contentType).toBe(400);
      expect(answer.json().error).toContain('application/json');
    }
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/problem+json',
  ])('Content-Type %j is JSON', async (contentType) => {
    const app = await gatewayForTest(current);
    const answer = await app.inject(post('/users', '{"access_key":"a"}', { 'content-type': contentType }));
    expect(answer.json()).toEqual({ ok: true, data: 'a' });
  });

  it('a body over 1 MiB answers 413 with an envelope, and a whole configuration may be larger', async () => {
    const app = await gatewayForTest(current);
    const large = JSON.stringify({ access_key: 'a'.repeat(1024 * 1024) });
    const answer = await app.inject(post('/users', large));
    expect(answer.statusCode).toBe(413);
    const error = 'request body too large: at most 1048576 bytes are accepted';
    expect(answer.json()).toEqual({ ok: false, error });
    const config = await app.inject({
      method: 'PUT',
      url: `${API}/server/config`,
      headers: { 'content-type': 'application/json' },
      payload: large,
    });
    expect(config.json().error).toBe('No config path registered (run-time only)');
  });

  it.each([
    ['a length', (body: string) => `Content-Length: ${body.length}\r\n\r\n${body}`],
    [
      'chunks',
      (body: string) => `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ],
  ])('a body with %s that is far too large is taken to its end: the answer arrives, the connection goes on', async (_how, framed) => {
    const app = await gatewayForTest(current);
    const port = await listen(app);
    const head = `POST ${API}/users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    const next = `GET ${API}/server/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const answers = await exchange(port, head + framed(' '.repeat(20_000_000)) + next, false);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it.each([
    ['POST', '/users/a/reset', 200],
    ['DELETE', '/users/a', 200],
    ['DELETE', '/audit', 200],
    ['GET', '/users/a', 200],
  ] as const)('%s %s ignores any body and content type', async (method, path, status) => {
    const app = await gatewayForTest(current);
    const port = await listen(app);
    await app.inject(post('/users', '{"access_key":"a"}'));
    for (const headers of [
      'Content-Type: application/json\r\n',
      'Content-Type: ;;;\r\nContent-Length: 3\r\n',
      'Content-Length: 3\r\n',
    ]) {
      await app.inject(post('/users', '{"access_key":"a"}'));
      const body = headers.includes('Length') ? '{,}' : '';
      const text = await exchange(
        port,
        `${method} ${API}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`,
      );
      expect(text.split(' ')[1]).toBe(`${status}`);
    }
  });

  it('without a credential answers 401 before the body is read', async () => {
    const app = await gatewayForTest({ ...current, listener: { token: 'T' } });
    const port = await listen(app);
    const head = `PUT ${API}/server/config HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\nConnection: close\r\n\r\n{`;
    const { socket, received } = await openRaw({ host: '127.0.0.1', port });
    socket.write(head);
    await received(/401 Unauthorized/);
  });
});

describe('a path that is not what was expected', () => {
  it('is answered with an envelope', async () => {
    const port = await listen(await gatewayForTest(current));
    for (const [method, url, status] of [
      ['GET', `${API}/nothing`, 404],
      ['GET', `${API}`, 404],
      ['GET', `${API}/`, 404],
      ['GET', `${API}/users/`, 404],
      ['GET', `${API}/users/a/b`, 404],
      ['GET', '/', 404],
      ['GET', '/api/users', 404],
      ['PATCH', `${API}/users`, 405],
      ['POST', `${API}/users/x`, 405],
      ['PROPFIND', `${API}/users`, 405],
      ['POST', '/panel/', 405],
    ]) {
      const text = await exchange(port, `${method} ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(text.split(' ')[1], `${method} ${url}`).toBe(`${status}`);
      expect(text).toContain('{"ok":false,"error":"');
      expect(text.toLowerCase()).toContain('access-control-allow-origin: *');
      if (status === 405) expect(text).toMatch(/^allow: .+/im);
    }
  });

  it.each([
    '/panel/api/users/%',
    '/panel/api/users/%zz',
    '/panel/%c0%af',
    '/panel/api/users/%ff',
  ])('%s, a bad escape, answers 400 with an envelope', async (url) => {
    const app = await gatewayForTest(current);
    const port = await listen(app);
    const text = await exchange(port, `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text.split(' ')[1]).toBe('400');
    expect(text).toContain('{"ok":false,"error":"');
    expect(text.toLowerCase()).toContain('access-control-allow-origin: *');
  });

  it('GET /users/bulk reads the key "bulk", which only POST takes for bulk creation', async () => {
    const app = await gatewayForTest(current);
    await app.inject(post('/users', '{"access_key":"bulk"}'));
    expect((await app.inject({ url: `${API}/users/bulk` })).json().data.access_key).toBe('bulk');
  });
});

describe('any access key', () => {
  it('is created, read, limited, shared and deleted by its percent-encoded path', async () => {
    const app = await gatewayForTest(current);
    const port = await listen(app);
    const aKey = fc.oneof(
      fc.string({ unit: codePoint, minLength: 1, maxLength: 40 }),
      fc.constantFrom(
        '..',
        '.',
        'a/b',
        'a%2Fb',
        '%',
        '?',
        '#',
        '@',
        ' ',
        'ключ',
        '🔑',
        '__proto__',
        'constructor',
        'limit',
        'bulk',
        ':',
        '*',
        '\\',
        '\u0000',
        'ä'.repeat(10_000),
        'k'.repeat(10_000),
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        aKey.filter((key) => !/\p{Surrogate}/u.test(key)),
        async (accessKey) => {
          const path = `${API}/users/${encodeURIComponent(accessKey)}`;
          const call = async (method: string, url: string, body?: string) => {
            const length =
              body === undefined
                ? ''
                : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
            const text = await exchange(
              port,
              `${method} ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${length}\r\n${body ?? ''}`,
            );
            return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { data?: unknown };
          };
          expect(await call('POST', `${API}/users`, JSON.stringify({ access_key: accessKey }))).toEqual({
            ok: true,
            data: accessKey,
          });
          expect(await call('GET', path)).toMatchObject({ ok: true, data: { access_key: accessKey } });
          expect(await call('PUT', `${path}/limit`, '{"limit_bytes":1}')).toEqual({ ok: true, data: true });
          expect(await call('GET', `${API}/subscribe/${encodeURIComponent(accessKey)}`)).toMatchObject({
            data: { access_key: accessKey },
          });
          expect(await call('DELETE', path)).toEqual({ ok: true, data: 'User removed' });
        },
      ),
      { numRuns: tries(20) },
    );
  });
});

describe('a broken connection', () => {
  it.each([
    ['GARBAGE\r\n\r\n', '400'],
    ['GET / HTTP/9.9\r\n\r\n', '400'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(200_000)}\r\n\r\n`, '431'],
    ['POST /panel/api/users HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', '400'],
    ['POST /panel/api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', '400'],
  ])('%j answers %s with an envelope', async (bytes, status) => {
    const app = await gatewayForTest(current);
    const text = await exchange(await listen(app), bytes);
    expect(text.split(' ')[1]).toBe(status);
    expect(text).toContain('{"ok":false,"error":"');
  });

  it('any bytes at all leave the gateway serving', async () => {
    const app = await gatewayForTest(current);
    const port = await listen(app);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const text = await exchange(
          port,
          Buffer.concat([Buffer.from('POST /panel/api/users HTTP/1.1\r\nHost: x\r\n'), bytes]),
        );
        expect(text.split(' ')[1] ?? '').not.toBe('500');
      }),
      { numRuns: tries(35) },
    );
    expect((await app.inject({ url: `${API}/server/status` })).statusCode).toBe(200);
  });

  it('a client that goes away in the middle of a body leaves no key and the gateway serving', async () => {
    const app = await gatewayForTest(current);
    const port = await listen(app);
    await exchange(
      port,
      `POST ${API}/users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"access_key":"h`,
    );
    expect((await app.inject({ url: `${API}/server/status` })).json().data.total_users).toBe(0);
  });
});
