import { METHODS } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openRaw } from '../raw-client.js';
import { gatewayForTest, listen } from './gateway.js';
import { exchange } from './raw-exchange.js';

const API = '/adm/api';

async function port(webpath = 'adm'): Promise<number> {
  return listen(await gatewayForTest({ mounts: [{ revision: 'current', webpath }] }));
}

/** The status, the fields by name and the body of the one answer to a request's first lines. */
async function ask(at: number, ...lines: readonly string[]) {
  const text = await exchange(at, `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`, false);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [first = '', ...fields] = head.split('\r\n');
  const byName = fields.map((field) => /^([^:]*): (.*)$/.exec(field) ?? []);
  return {
    status: Number(first.split(' ')[1]),
    fields: Object.fromEntries(byName.map(([, name = '', value]) => [name.toLowerCase(), value])),
    body,
  };
}

const envelope = (error: unknown) => ({ ok: false, error });
const anyOrigin = { 'access-control-allow-origin': '*', 'content-type': 'application/json' };

describe('a method that no operation has', () => {
  const served = ['GET', 'HEAD', 'POST', 'OPTIONS'];

  it('answers 405 where a path is served with others, else 404', async () => {
    const at = await port();
    for (const method of METHODS.filter((each) => !served.includes(each))) {
      for (const headers of [[], ['Content-Type: ;;;', 'Content-Length: 0']]) {
        const known = await ask(at, `${method} ${API}/audit/ HTTP/1.1`, 'Host: x', ...headers);
        expect([known.status, JSON.parse(known.body)], method).toEqual([404, envelope('not found')]);
        const users = await ask(at, `${method} ${API}/users HTTP/1.1`, 'Host: x', ...headers);
        expect(users, method).toMatchObject({ status: 405, fields: { ...anyOrigin, allow: 'GET, HEAD, POST' } });
        expect(JSON.parse(users.body)).toEqual(envelope('method not allowed: use GET, HEAD, POST'));
        expect((await ask(at, `${method} /other HTTP/1.1`, 'Host: x', ...headers)).status, method).toBe(404);
      }
    }
  });

  it('CONNECT to an authority answers 404 and closes, whoever keeps the connection', async () => {
    const at = await port();
    const text = await exchange(at, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', false);
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
    expect(text).toContain('{"ok":false,"error":"not found"}');
  });

  it('two Host headers answer 400 with an envelope, however they are spelled', async () => {
    const at = await port();
    for (const second of ['Host: x', 'host: y', 'HOST:']) {
      const { status, body } = await ask(at, 'GET /other HTTP/1.1', 'Host: x', second);
      expect([status, JSON.parse(body)]).toEqual([400, envelope('the request has more than one Host header')]);
    }
  });

  it('CONNECT behind a request whose answer is still on its way ends the connection, and others are answered', async () => {
    const at = await port();
    const client = await openRaw({ port: at, host: '127.0.0.1' });
    client.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nCONNECT a HTTP/1.1\r\n\r\n');
    expect(await client.ended).not.toMatch(/HTTP.*HTTP/s);
    expect((await ask(at, 'GET /other HTTP/1.1', 'Host: x')).status).toBe(404);
  });
});

describe('a path of the API in another form', () => {
  it('answers GET with 404 and an envelope, and never the index page', async () => {
    const at = await port();
    for (const target of [
      `${API}/nothing`,
      '/adm/%61pi/nothing',
      '/%61dm/%61%70%69/nothing',
      '/adm/%61pi',
      `http://example.com${API}/nothing`,
      'HTTPS://example.com:9090/adm/%61pi/nothing?x=/adm/',
      `${API}?x`,
      `${API}/nothing?http://x/adm/`,
    ]) {
      const { status, fields, body } = await ask(at, `GET ${target} HTTP/1.1`, 'Host: x');
      expect([status, JSON.parse(body), fields], target).toEqual([
        404,
        envelope('not found'),
        expect.objectContaining(anyOrigin),
      ]);
    }
  });

  it.each([
    '/adm/%61pi/users',
    `http://example.com${API}/users`,
  ])('PATCH %s answers 405 with what is served there', async (target) => {
    const answer = await ask(await port(), `PATCH ${target} HTTP/1.1`, 'Host: x');
    expect([answer.status, answer.fields.allow]).toEqual([405, 'GET, HEAD, POST']);
  });

  it.each([
    '/adm/%61pi/server/status',
    `http://example.com${API}/server/status?x`,
  ])('GET %s is served', async (target) => {
    expect((await ask(await port(), `GET ${target} HTTP/1.1`, 'Host: x')).status).toBe(200);
  });

  it('a key with an escaped slash is one part of its path', async () => {
    const answer = await ask(await port(), `PATCH ${API}/users/a%2Fb HTTP/1.1`, 'Host: x');
    expect([answer.status, answer.fields.allow]).toEqual([405, 'GET, HEAD, PUT, DELETE']);
  });
});

describe('what Node would refuse by itself', () => {
  it.each([
    'GET /adm/api/server/status',
    'POST /adm/api/users',
    'GET /adm/',
  ])('%s without a Host answers 400 with an envelope', async (request) => {
    const answer = await ask(await port(), `${request} HTTP/1.1`);
    expect(answer).toMatchObject({ status: 400, fields: anyOrigin });
    expect(JSON.parse(answer.body)).toEqual(envelope('the request has no Host header'));
  });

  it('HTTP/1.0 needs no Host, and an empty one is one', async () => {
    const at = await port();
    expect((await ask(at, `GET ${API}/server/status HTTP/1.0`)).status).toBe(200);
    expect((await ask(at, `GET ${API}/server/status HTTP/1.1`, 'Host:')).status).toBe(200);
  });

  it('an unknown expectation answers 417 with an envelope, and the known one is met', async () => {
    const at = await port();
    const answer = await ask(at, `GET ${API}/server/status HTTP/1.1`, 'Host: x', 'Expect: a miracle');
    expect(answer).toMatchObject({ status: 417, fields: anyOrigin });
    expect(JSON.parse(answer.body)).toEqual(envelope(expect.stringContaining('expectation')));
    const met = await exchange(
      at,
      `POST ${API}/audit HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
      false,
    );
    expect(met.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 400']);
  });
});

describe('a web path outside ASCII', () => {
  it('redirects to its page, and serves panel and API, percent-encoded', async () => {
    const at = await port('панель и "α"');
    const base = encodeURI('/панель и "α"');
    const redirect = await ask(at, `GET ${base} HTTP/1.1`, 'Host: x');
    expect([redirect.status, redirect.fields.location]).toEqual([308, `${base}/`]);
    expect((await ask(at, `GET ${base}/ HTTP/1.1`, 'Host: x')).fields['content-type']).toBe('text/html');
    expect((await ask(at, `GET ${base}/api/server/status HTTP/1.1`, 'Host: x')).status).toBe(200);
    expect((await ask(at, `GET ${base}/api/nothing HTTP/1.1`, 'Host: x')).status).toBe(404);
  });

  it('with half of a surrogate pair cannot be addressed: an error at the start says so', async () => {
    await expect(gatewayForTest({ mounts: [{ revision: 'current', webpath: 'a\ud83d' }] })).rejects.toThrow(
      'webpath: expected a web path without half of a surrogate pair',
    );
  });
});

describe('a request of a stranger with 100,000 parts', () => {
  const many = (part: string) => part.repeat(100_000);

  it.each([
    ['in a path of the API', `GET ${API}${many('/')} HTTP/1.1`, []],
    ['in a path of the API that a preflight asks for', `OPTIONS ${API}${many('/')} HTTP/1.1`, []],
    ["in a path of Keyway's own interface", `GET /adm/keyway/v1${many('/')} HTTP/1.1`, []],
    ['in Accept-Encoding', `GET ${API}/audit HTTP/1.1`, [`Accept-Encoding: gzip${many(',')}`]],
    ['in one coding of Accept-Encoding', `GET ${API}/audit HTTP/1.1`, [`Accept-Encoding: gzip${many(';')}`]],
  ])('%s is not taken apart', async (_where, line, fields) => {
    const at = await port();
    const split = vi.spyOn(String.prototype, 'split');
    onTestFinished(() => void split.mockRestore());
    const { status } = await ask(at, line, 'Host: x', ...fields);
    expect([200, 404]).toContain(status);
    const parts = split.mock.results.map(({ value }) => (Array.isArray(value) ? value.length : 0));
    expect(parts.reduce((sum, each) => sum + each)).toBeLessThan(10_000);
  });
});
