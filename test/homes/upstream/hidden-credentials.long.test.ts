import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { folderForTest } from '../../folder-for-test.js';
import { createLines, startWith } from '../../ops/stage.js';
import { bodyOf, scriptedServer } from '../../stand-in/scripted-server.js';

const TOKEN = 'to"ken\\of/the=server';
const PASSWORD = 'the pass%word of "Keyway"';
const SESSION = 'session-0b1c2d3e4f';
const BASIC = Buffer.from(`boss:${PASSWORD}`).toString('base64');
const SECRETS = [TOKEN, PASSWORD, SESSION, BASIC];
/** As a server puts them into a text. */
const LOOT = `x token=${TOKEN} password=${PASSWORD} ${encodeURIComponent(PASSWORD)} Basic ${BASIC} Cookie: session=${SESSION}; ${JSON.stringify(SECRETS)}`;
const IN_HEADER = `x/${encodeURIComponent(TOKEN)} ${TOKEN} ${SESSION} ${BASIC}`;

type Mood = 'data' | 'refusal' | 'odd' | 'redirect' | 'page' | 'broken configuration';

const CONFIGURATION = JSON.stringify({
  mode: 'server',
  listen: '0.0.0.0:50000',
  api: { enabled: true, token: TOKEN, username: 'boss', password_hash: 'a'.repeat(64) },
  access_keys: [{ access_key: `key ${LOOT}`, name: LOOT }, { access_key: 'a', name: `A ${LOOT}` }, 'plain'],
  outbound: { enabled: true, rules: [{ domain_suffix: [`${LOOT}.org`], ip_cidr: [], action: 'proxy' }] },
  dns: {
    enabled: false,
    adblock_urls: [`https://lists/${LOOT}`],
    doh_upstream: LOOT,
    custom_domains: { [LOOT]: '1.1.1.1' },
  },
});

/** A server of a line that puts Keyway's credentials into every text that it answers. */
async function hostileServer(version: string, root: string) {
  const state: { mood: Mood; written: string[] } = { mood: 'data', written: [] };
  const key = (access_key: string) => ({
    ...{ access_key, name: access_key === 'plain' ? null : access_key === 'a' ? `A ${LOOT}` : LOOT },
    ...{ bytes_up: 0, bytes_down: 0, connections: 0, limit_bytes: null, online: false, last_seen: null },
  });
  const data: Readonly<Record<string, unknown>> = {
    '/server/status': {
      version,
      uptime_seconds: 5,
      active_users: 0,
      total_users: 2,
      endpoint: { host: LOOT, udp_port: 1 },
    },
    '/users': [key(`key ${LOOT}`), key('a'), key('plain')],
    '/users/a': key('a'),
    '/router/rules': [{ domain_suffix: [`${LOOT}.org`], ip_cidr: [LOOT], protocol: LOOT, action: 'proxy' }],
    '/dns/config': { enabled: true, adblock_urls: [LOOT], doh_upstream: LOOT, custom_domains: { [LOOT]: LOOT } },
    '/dns/queries': [{ timestamp: 1, domain: LOOT, client_ip: LOOT, blocked: false }],
    '/audit': [{ id: LOOT, time: LOOT, eventEn: LOOT, eventRu: LOOT, success: true }],
  };
  function answer(path: string, request: IncomingMessage, response: ServerResponse): void {
    const ok = (value: unknown) => response.end(JSON.stringify({ ok: true, data: value }));
    const fails = (status: number, error: string) =>
      response.writeHead(status).end(JSON.stringify({ ok: false, error }));
    response
      .setHeader('x-echo', IN_HEADER)
      .setHeader('set-cookie', `session=${SESSION}`)
      .setHeader('server', IN_HEADER);
    if (path === '/login') return void ok({ token: SESSION });
    const shown = request.headers.authorization ?? '';
    const isOpen = path.startsWith('/subscribe/') || path === '/audit';
    if (!isOpen && ![TOKEN, SESSION].some((secret) => shown === `Bearer ${secret}`))
      return void fails(401, 'unauthorized');
    if (path === '/server/status' && state.mood !== 'odd') return void ok(data[path]);
    if (state.mood === 'refusal') return void fails(400, `failed: ${LOOT}`);
    if (state.mood === 'odd') return void fails(500, LOOT);
    if (state.mood === 'redirect') return void response.writeHead(302, { location: `/${IN_HEADER}` }).end();
    if (state.mood === 'page')
      return void response.writeHead(200, { 'content-type': IN_HEADER, 'content-encoding': SESSION }).end(LOOT);
    if (path === '/server/config') {
      if (state.mood === 'broken configuration') return void ok({ mode: 'server', access_keys: { [LOOT]: LOOT } });
      return void response.end(`{"ok":true,"data":${CONFIGURATION}}`);
    }
    if (path.startsWith('/subscribe/')) {
      const accessKey = decodeURIComponent(path.slice('/subscribe/'.length));
      const isLink = request.headers.accept?.includes('text/plain') === true;
      return void ok(isLink ? `${LOOT}://${accessKey}@${LOOT}:1?${LOOT}` : { server: `${LOOT}:1`, note: LOOT });
    }
    if (request.method !== 'GET') return void ok(path === '/users/bulk' ? [LOOT] : LOOT);
    if (path in data) return void ok(data[path]);
    fails(400, `no such key: ${LOOT}`);
  }
  const { origin } = await scriptedServer(async (request, response) => {
    const body = await bodyOf(request);
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (request.method !== 'GET' && !path.endsWith('/login')) state.written.push(`${path} ${body}`);
    if (path.startsWith(`${root}/`)) answer(path.slice(root.length), request, response);
    else response.writeHead(404, { 'x-echo': IN_HEADER }).end(LOOT);
  });
  return { state, origin };
}

const READS = [
  '/server/status',
  '/users',
  '/users/a',
  '/users/nobody',
  '/router/rules',
  '/audit',
  '/subscribe/a',
  '/subscribe/none',
];
const DNS_READS = ['/dns/config', '/dns/queries'];
const WRITES: readonly (readonly [string, string, unknown])[] = [
  ['POST', '/users', { access_key: 'new', name: 'n' }],
  ['PUT', '/users/a', { name: 'b' }],
  ['POST', '/users/a/reset', undefined],
  ['DELETE', '/users/new', undefined],
  ['POST', '/users/bulk', { count: 1 }],
  ['PUT', '/router/rules', [{ domain_suffix: ['x'], ip_cidr: [], action: 'proxy' }]],
  ['POST', '/audit', { eventEn: 'x', eventRu: 'y', success: true }],
  ['DELETE', '/audit', undefined],
];

/** The secrets that stand in a text, as they are, in JSON or in a URL. */
function foundIn(text: string, secrets: readonly string[]): readonly string[] {
  const inJson = (secret: string) => JSON.stringify(secret).slice(1, -1);
  const spellings = (secret: string) => [secret, inJson(secret), inJson(inJson(secret)), encodeURIComponent(secret)];
  return secrets.filter((secret) => spellings(secret).some((spelling) => text.includes(spelling)));
}

it.each([
  ['0.2.34', '/api', ['--upstream-token', TOKEN]],
  ['0.2.43', '/panel/api', ['--upstream-username', 'boss', '--upstream-password', PASSWORD]],
  ['0.2.96', '/panel/api', ['--upstream-token', TOKEN, '--upstream-username', 'boss', '--upstream-password', PASSWORD]],
  ['0.3.21', '/panel/api', ['--upstream-token', TOKEN]],
])('no answer, log line or metric has a credential of Keyway’s that a server of %s says in every text', async (version, root, credentials) => {
  const { state, origin } = await hostileServer(version, root);
  const { lines, log } = createLines();
  const flags = ['--bind', '127.0.0.1:0', '--ops-bind', '127.0.0.1:0', '--token', 'token-of-callers'];
  const mounts = ['--revision', 'current@new', '--revision', '0.2.84@old'];
  const dataFolder = join(await folderForTest(), 'data');
  const argv = ['--upstream', `${origin}/panel`, ...credentials, '--data-dir', dataFolder, ...flags, ...mounts];
  const gateway = (await startWith(argv, log)) ?? expect.fail('nothing is served');
  onTestFinished(() => gateway.close());
  const ops = String(lines.find(({ fields }) => 'ops' in fields)?.fields.ops);
  const told: string[] = [];
  async function ask(url: string, { method = 'GET', body, ...init }: RequestInit = {}) {
    const headers = { authorization: 'Bearer token-of-callers', 'content-type': 'application/json', ...init.headers };
    const answer = await fetch(url, { method, headers, redirect: 'manual', ...(body == null ? {} : { body }) });
    const text = await answer.text();
    told.push(`${method} ${url} ${answer.status} ${JSON.stringify([...answer.headers])} ${text}`);
    return text;
  }
  const { origin: place } = new URL(gateway.url);
  const moods: readonly Mood[] = ['data', 'refusal', 'odd', 'redirect', 'page', 'broken configuration'];
  for (const mood of moods) {
    state.mood = mood;
    // Each read of a configuration that is none waits for a better one.
    const isBroken = mood === 'broken configuration';
    const reads = isBroken
      ? [`${place}/new/api/router/rules`]
      : ['/new/api', '/old/api'].flatMap((api) => [...READS, ...DNS_READS].map((path) => `${place}${api}${path}`));
    for (const url of reads) {
      await ask(url);
      if (url.includes('/subscribe/')) await ask(url, { headers: { accept: 'text/plain' } });
      if (url.endsWith('/audit')) await ask(url, { headers: { authorization: '' } });
    }
    for (const [method, path, body] of isBroken ? [] : WRITES)
      await ask(`${place}/new/api${path}`, { method, body: body === undefined ? null : JSON.stringify(body) });
    if (mood !== 'data' && !isBroken) await ask(`${place}/new/api/server/config`);
    for (const path of ['/healthz', '/metrics', '/readyz']) await ask(ops + path);
  }
  const [byToken, byLogin] = [TOKEN, PASSWORD].map((secret) => credentials.includes(secret));
  const hidden = [...(byToken ? [TOKEN] : []), ...(byLogin ? [PASSWORD, BASIC] : []), ...(byToken ? [] : [SESSION])];
  const shown = [...told, ...lines.map((line) => JSON.stringify(line))];

  expect(shown.filter((text) => foundIn(text, hidden).length > 0)).toEqual([]);
  expect(state.written.join()).not.toContain('struck out');
});
