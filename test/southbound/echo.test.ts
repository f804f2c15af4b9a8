import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../src/index.js';
import type { RunningServerOptions } from '../../src/southbound/running-server.js';
import { Secrets, STRUCK } from '../../src/southbound/secrets.js';
import type { CallOutcome, UpstreamServer } from '../../src/southbound/server.js';
import { answering, bodyOf, call, envelope, keptLog, LINES, STATUS } from './called-server.js';

/** What an echoing server puts everything that it was sent into. */
type Place = 'key' | 'name' | 'version' | 'error' | 'content type' | 'location' | 'page' | 'audit' | 'rule' | 'session';

/** A server that answers with what it was sent: head, body, and both once more as a JSON text. */
async function echoing(place: Place): Promise<string> {
  const server = createServer(async (request, response) => {
    const sent = `${request.url} ${JSON.stringify(request.rawHeaders)} ${await bodyOf(request)}`;
    const echo = `${request.headers.authorization ?? ''} ${sent} ${JSON.stringify(sent)}`;
    const path = (request.url ?? '').replace('/panel/api', '');
    const ok = (data: unknown) => response.end(JSON.stringify({ ok: true, data }));
    const snapshot = (access_key: string, name: string) => ({
      access_key,
      name,
      ...{ bytes_up: 0, bytes_down: 0, connections: 0, limit_bytes: null, online: false },
    });
    if (path === '/login') {
      if (place !== 'session') return response.writeHead(401).end(JSON.stringify({ ok: false, error: echo }));
      return ok({ token: 'session-of-the-server' });
    }
    if (place === 'session' && request.headers.authorization !== 'Bearer session-of-the-server')
      return response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
    if (path === '/server/status') return ok({ ...STATUS, version: place === 'version' ? `0.2.96 ${echo}` : '0.2.96' });
    if (place === 'error' || place === 'session')
      return response.writeHead(500).end(JSON.stringify({ ok: false, error: echo }));
    if (place === 'page') return response.end(echo);
    if (place === 'location') return response.writeHead(302, { location: `http://x/${encodeURI(echo)}` }).end();
    if (place === 'content type')
      return response.writeHead(200, { 'content-type': request.headers.authorization ?? 'x/y' }).end('<');
    if (path === '/users') return ok([snapshot(place === 'key' ? echo : 'a', place === 'name' ? echo : 'n')]);
    if (path === '/audit' && request.method === 'GET')
      return ok([{ id: '1', time: '0', eventEn: echo, eventRu: echo, success: true }]);
    if (path.startsWith('/users/')) return ok(snapshot('a', echo));
    return response.writeHead(400).end(JSON.stringify({ ok: false, error: echo }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // It listens on a port.
}

const PLACES: readonly Place[] = [
  'key',
  'name',
  'version',
  'error',
  'content type',
  'location',
  'page',
  'audit',
  'rule',
  'session',
];

/** As headers take them. */
const secret = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019_-."\\/+=%'), minLength: 12, maxLength: 24 })
  .filter((text) => new Set(text).size > 5);

const CALLS: readonly ((server: UpstreamServer) => Promise<unknown>)[] = [
  (server) => server.status(),
  (server) => server.listUsers(),
  (server) => server.getUser('a'),
  (server) => server.listAudit(),
  (server) => server.rules(),
  (server) => server.subscription('a'),
  (server) => server.createUser({ accessKey: 'a', name: null, limitBytes: null }),
  (server) => server.putConfig(Buffer.from('{}')),
];

function everythingOf(value: unknown): string {
  if (value instanceof Error) return `${value.message} ${value.stack} ${JSON.stringify(value)}`;
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each)) ?? '';
}

/** Whether the secret stands there, as it is or as it is written in JSON. */
function holds(text: string, hidden: string): boolean {
  const inJson = JSON.stringify(hidden).slice(1, -1);
  return [hidden, inJson, JSON.stringify(inJson).slice(1, -1)].some((form) => text.includes(form));
}

describe('a server that echoes everything it gets', () => {
  it.each(PLACES)('gives none of Keyway’s credentials away: %s', async (place) => {
    const cases = fc.sample(fc.tuple(secret, secret), { numRuns: 6, seed: 25 });
    for (const [token, password] of cases) {
      const origin = await echoing(place);
      const log = keptLog();
      const outcomes: [string, CallOutcome][] = [];
      const observer = {
        called: ({ operation, outcome }: { operation: string; outcome: CallOutcome }) =>
          outcomes.push([operation, outcome]),
        sessionLost() {},
      };
      const operator = { username: 'boss', password };
      const server = call(origin, {
        log,
        observer,
        credentials: { token: place === 'session' ? null : token, operator },
      });
      const told: unknown[] = [];
      for (const ask of CALLS) told.push(await ask(server).catch((error: unknown) => error));
      const all = [...told, ...log.lines, outcomes, server.troubles(), server.version()].map(everythingOf).join('\n');
      for (const hidden of [token, password, 'session-of-the-server']) expect(holds(all, hidden)).toBe(false);
    }
  });

  it('has no part of a credential told where a text is cut off, or where its version holds one', async () => {
    const token = 'QZ7KPW9YMNB3';
    const told = async (location: string, version: string, revision: RunningServerOptions['revision']) => {
      const { origin } = await answering((request, response) => {
        if (request.url?.endsWith('/server/status') === true) response.end(envelope({ ...STATUS, version }));
        else response.writeHead(302, { location }).end();
      });
      const log = keptLog();
      const server = call(origin, { log, revision, credentials: { token, operator: null } });
      const end = await server.listUsers().catch((error: unknown) => error);
      return [end, server.version(), ...log.lines].map(everythingOf).join('\n');
    };
    const [line = null] = LINES.all;
    for (let cut = 1; cut < token.length; cut += 4) {
      const location = `http://x/${'a'.repeat(191 - cut)}${token}`;
      const texts = [await told(location, '0.2.96', null), await told('/', `${'x'.repeat(40 - cut)}${token}`, null)];
      for (const text of [...texts, await told('/', `9 ${token}`, line)]) expect(text).not.toContain('Q');
    }
  });

  it('tells strangers that the server cannot be reached, and nothing else, and callers why', async () => {
    const origin = await echoing('page');
    const gateway = await createGateway({
      mounts: [{ revision: '0.2.96' }],
      upstream: { url: `${origin}/panel`, token: 'token-of-the-server', revision: '0.2.96' },
    });
    onTestFinished(() => gateway.close());
    const ask = (url: string, headers = {}) => gateway.inject({ method: 'GET', url, headers });
    for (const url of ['/panel/api/audit', '/panel/api/subscribe/some-key']) {
      const { statusCode, body } = await ask(url);
      expect([statusCode, JSON.parse(body)]).toEqual([502, { ok: false, error: 'the server cannot be reached' }]);
    }
    const { body } = await ask('/panel/api/users', { authorization: 'Bearer token-of-the-server' });
    expect(body).toContain(`${origin}: it answered 200`);
    expect(body).not.toContain('token-of-the-server');
  });
});

describe('a text with a credential in it', () => {
  it('is never written to the server as it was shown, which would take the place of its own', async () => {
    const token = 'token-of-the-server';
    const written: string[] = [];
    const { origin } = await answering(async (request, response) => {
      const name = `has ${token}`;
      const key = {
        access_key: 'a',
        name,
        bytes_up: 0,
        bytes_down: 0,
        connections: 0,
        limit_bytes: null,
        online: false,
      };
      if (request.method !== 'GET') written.push(await bodyOf(request));
      response.end(envelope(request.url?.endsWith('/users') === true ? [key] : STATUS));
    });
    const server = call(origin, { credentials: { token, operator: null } });
    await server.createUser({ accessKey: 'b', name: `my ${STRUCK}`, limitBytes: null });
    expect(written).toHaveLength(1);
    const shown = (await server.listUsers()).value[0] ?? expect.fail('there is no key');
    expect(shown.name).toBe(`has ${STRUCK}`);
    for (const write of [server.updateUser(shown), server.putConfig(Buffer.from(JSON.stringify(shown.name)))])
      await expect(write).rejects.toMatchObject({ code: 'configRefused', detail: expect.stringContaining(STRUCK) });
    await server.setLimit('a', 5n);
    expect(written).toHaveLength(2);
  });
});

describe('what is struck out', () => {
  it('is a credential wherever it stands, and nothing else', () => {
    const secrets = new Secrets({ token: 'a"b\\c-token', operator: { username: 'boss', password: 'short' } });
    expect(secrets.strike('boss has a"b\\c-token')).toBe(`boss has ${STRUCK}`);
    expect(secrets.strike(JSON.stringify({ of: 'a"b\\c-token' }))).toBe(`{"of":"${STRUCK}"}`);
    expect(secrets.strikeAll({ 'a"b\\c-token': ['x a"b\\c-token', 1n, null] })).toEqual({
      [STRUCK]: [`x ${STRUCK}`, 1n, null],
    });
    // What is as short as this stands in other texts by chance.
    expect(secrets.strike('a shortcut')).toBe('a shortcut');
  });
});
