import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { gatewayForTest, listen } from './gateway.js';
import { exchange } from './raw-exchange.js';

const API = '/panel/api';
const LONE = '\\ud83d';
const NUMBER = '7'.repeat(1_000_000);

const CONFIGURATION = JSON.stringify({
  mode: 'server',
  access_keys: ['alpha'],
  outbound: { enabled: true, rules: [] },
  dns: { enabled: false },
});

/** A gateway over a file of its own; `content` reads that file. */
async function gatewayOverFile(revision = 'current') {
  const folder = await folderForTest();
  const configPath = join(folder, 'server.json');
  await writeFile(configPath, CONFIGURATION);
  const app = await gatewayForTest({ mounts: [{ revision }], configPath });
  const send = async (method: 'POST' | 'PUT', path: string, payload: string | Buffer) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await app.inject({ method, url: API + path, headers, payload });
    return { status: answer.statusCode, error: String(answer.json().error) };
  };
  return { app, send, content: () => readFile(configPath, 'utf8') };
}

describe('half of a surrogate pair', () => {
  const SENT: readonly (readonly [string, 'POST' | 'PUT', string, string])[] = [
    ['current', 'POST', '/users', `{"access_key":"${LONE}"}`],
    ['current', 'POST', '/users', `{"access_key":"a","name":"half ${LONE} of it"}`],
    ['current', 'POST', '/users', '{"access_key":"a","name":"\\uDE00\\ud83d"}'],
    ['current', 'POST', '/users', `{"access_key":"a","unknown":{"${LONE}":1}}`],
    ['current', 'PUT', '/users/alpha', `{"name":"${LONE}"}`],
    ['current', 'POST', '/users/bulk', `{"count":1,"x":"${LONE}"}`],
    ['current', 'POST', '/login', `{"username":"${LONE}"}`],
    ['current', 'POST', '/audit', `{"eventEn":"${LONE}","eventRu":"","success":true}`],
    ['current', 'PUT', '/router/rules', `[{"action":"direct","domain_suffix":["${LONE}"]}]`],
    ['dns', 'POST', '/dns/config', `{"enabled":false,"doh_upstream":"https://a/${LONE}"}`],
    ['dns', 'POST', '/dns/config', `{"enabled":false,"custom_domains":{"${LONE}":"192.0.2.1"}}`],
    ['current', 'PUT', '/server/config', `{"mode":"server","access_keys":["${LONE}"]}`],
    ['current', 'PUT', '/server/config', `{"mode":"server","other":{"deep":[{"${LONE}":1}]}}`],
  ];

  it.each([
    'current',
    'dns',
  ])('in whatever is sent to %s answers 400, says so, and writes nothing', async (revision) => {
    const { app, send, content } = await gatewayOverFile(revision);
    const refused = [400, expect.stringMatching(/lone surrogate \\u[\w]{4} .*at line 1 column \d+$/)];
    for (const [, method, path, body] of SENT.filter(([to]) => to === revision)) {
      const { status, error } = await send(method, path, body);
      expect([status, error], `${method} ${path} ${body}`).toEqual(refused);
    }
    expect(await content()).toBe(CONFIGURATION);
    expect(app.keyway.core.keys.size).toBe(1);
    expect(app.keyway.core.audit.list()).toEqual([]);
  });

  it('a whole pair is one character, in capitals or not, and reaches the file', async () => {
    const { app, send, content } = await gatewayOverFile();
    expect((await send('POST', '/users', '{"access_key":"a","name":"\\ud83d\\uDE00"}')).status).toBe(200);
    expect(app.keyway.core.keys.get('a')?.name).toBe('😀');
    expect(await content()).toContain('"😀"');
  });
});

it.each([
  ['POST', '/users', '{"access_key":"?"}'],
  ['PUT', '/server/config', '{"mode":"server","a":"?"}'],
] as const)('%s %s with bytes that are no UTF-8 answers 400, and nothing is replaced', async (method, path, body) => {
  const { send, content } = await gatewayOverFile();
  for (const bytes of [[0xff], [0xed, 0xa0, 0xbd], [0xc3]]) {
    const [before = '', after = ''] = body.split('?');
    const payload = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
    const { status, error } = await send(method, path, payload);
    expect([status, error]).toEqual([400, expect.stringContaining('invalid UTF-8 at line 1 column')]);
  }
  expect(await content()).toBe(CONFIGURATION);
});

it('a key in a path that is no UTF-8 answers 400 and says so, wherever a path has a key', async () => {
  const { app } = await gatewayOverFile();
  const port = await listen(app);
  const paths = ['%ED%A0%BD', '%ED%A0%BD%ED%B8%80', '%ff', '%c0%af', 'a%e2%82'].flatMap((key) => [
    ['GET', `/users/${key}`],
    ['PUT', `/users/${key}`],
    ['DELETE', `/users/${key}`],
    ['PUT', `/users/${key}/limit`],
    ['POST', `/users/${key}/reset`],
    ['GET', `/subscribe/${key}`],
  ]);
  for (const [method, path] of paths) {
    const answer = await exchange(port, `${method} ${API}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer, path).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer, path).toContain('{"ok":false,"error":"the path is no UTF-8');
  }
});

describe('a number of a million digits', () => {
  it.each([
    ['/users', `{"limit_bytes":${NUMBER}}`, 'limit_bytes: expected an unsigned 64-bit integer or null'],
    ['/users/bulk', `{"count":-${NUMBER}}`, 'count: expected an unsigned 64-bit integer'],
  ])('POST %s refuses it by the name of its member', async (path, body, error) => {
    const { send } = await gatewayOverFile();
    expect(await send('POST', path, body)).toEqual({ status: 400, error });
  });

  it('in a whole configuration keeps its digits, and where a number is looked at it is none', async () => {
    const { app, send, content } = await gatewayOverFile();
    const body = `{"mode":"server","other":${NUMBER},"dns":{"enabled":true,"local_port":${NUMBER}},"access_keys":[{"access_key":"a","limit_bytes":${NUMBER}}]}`;
    expect((await send('PUT', '/server/config', body)).status).toBe(200);
    expect((await content()).replaceAll(/\s/g, '') === body).toBe(true);
    expect(app.keyway.core.keys.get('a')?.limitBytes).toBeNull();
    expect(app.keyway.backend.settings().dns.localPort).toBe(50053);
  });
});

describe('a replacement that indentation would blow up', () => {
  const nested = (elements: number) =>
    `{"mode":"server","x":${'['.repeat(500)}${'1,'.repeat(elements)}1${']'.repeat(500)}}`;

  it('beyond 16 times what was sent answers 400, and nothing is written', async () => {
    const { send, content } = await gatewayOverFile();
    const { status, error } = await send('PUT', '/server/config', nested(400_000));
    expect(status).toBe(400);
    expect(error).toMatch(/^Failed to format config JSON: the text would be longer than \d+ bytes$/);
    expect(await content()).toBe(CONFIGURATION);
  });

  it('up to 1 MiB is written, whatever was sent', async () => {
    const { send, content } = await gatewayOverFile();
    expect((await send('PUT', '/server/config', nested(300))).status).toBe(200);
    expect((await content()).length).toBeGreaterThan(16 * nested(300).length);
    expect((await send('PUT', '/server/config', nested(3000))).error).toContain('longer than 1048576 bytes');
  });
});
