import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunningServerOptions } from '../../src/client/running-server.js';
import { Secrets, STRUCK } from '../../src/client/secrets.js';
import type { CallOutcome, UpstreamServer } from '../../src/client/server.js';
import { createGateway } from '../../src/index.js';
import { bodyOf, scriptedServer } from '../stand-in/scripted-server.js';
import { someOf } from '../whole.js';
import { call, envelope, keptLog, LINES, STATUS } from './called-server.js';

/** What an echoing server puts everything that it was sent into. */
type Place = 'key' | 'name' | 'version' | 'error' | 'content type' | 'location' | 'page' | 'audit' | 'rule' | 'session';

/** A server that answers with what it was sent: head, body, and both once more as a JSON text. */
async function echoing(place: Place): Promise<string> {
  const { origin } = await scriptedServer(async (request, response) => {
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
  return origin;
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
  it.each(someOf(PLACES, 3))('gives none of Keyway’s credentials away: %s', async (place) => {
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
      const { origin } = await scriptedServer((request, response) => {
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
  it('is written back as the server has it where it comes as it was shown, and is refused where it comes otherwise', async () => {
    const token = 'token-of-the-server';
    const written: string[] = [];
    const { origin } = await scriptedServer(async (request, response) => {
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
    // Before it has read anything, as after a restart.
    await expect(server.updateUser({ accessKey: 'a', name: `has ${STRUCK}`, limitBytes: null })).rejects.toMatchObject({
      code: 'configRefused',
    });
    expect(written).toEqual([]);
    const shown = (await server.listUsers()).value[0] ?? expect.fail('there is no key');
    expect(shown.name).toBe(`has ${STRUCK}`);
    await server.updateUser({ ...shown, limitBytes: 5n });
    expect(JSON.parse(written[0] ?? '')).toEqual({ name: `has ${token}`, limit_bytes: 5 });
    await expect(server.updateUser({ ...shown, name: `had ${STRUCK}` })).rejects.toMatchObject({
      code: 'configRefused',
      detail: expect.stringContaining(STRUCK),
    });
    await server.setLimit('a', 5n);
    const configuration = `{"name": "has ${STRUCK}" // it"s its own\n}`;
    await server.putConfig(Buffer.from(configuration));
    await server.addAudit({ eventEn: `has ${STRUCK}`, eventRu: '', success: true });
    expect([written.length, written[2], JSON.parse(written[3] ?? '')]).toEqual([
      4,
      configuration,
      { eventEn: `has ${STRUCK}`, eventRu: '', success: true },
    ]);
  });

  it('keeps its own text for thousands of them, and for one in which the words themselves stand', () => {
    const secrets = new Secrets({ token: 'password', operator: null });
    const texts = Array.from({ length: 3_000 }, (_, n) => `password of user ${n}`);
    const shown = [...texts, `my ${STRUCK}`].map(secrets.struck);
    expect(shown.map(secrets.written)).toEqual([...texts, `my ${STRUCK}`]);
    expect(() => secrets.written(`mine ${STRUCK}`)).toThrow(STRUCK);
    secrets.struck('my password');
    expect(() => secrets.written(`my ${STRUCK}`)).toThrow(STRUCK);
  });
});

describe('what is struck out', () => {
  const operator = { username: 'boss', password: 'short' };

  it('is a credential wherever it stands, in any spelling, and nothing else', () => {
    const secrets = new Secrets({ token: 'a"b\\c-töken', operator });
    expect(secrets.struck('boss has a"b\\c-töken')).toBe(`boss has ${STRUCK}`);
    expect(secrets.struck(JSON.stringify({ of: 'a"b\\c-töken' }))).toBe(`{"of":"${STRUCK}"}`);
    expect(secrets.struckIn({ 'a"b\\c-töken': ['x a"b\\c-töken', 1n, null] })).toEqual({
      [STRUCK]: [`x ${STRUCK}`, 1n, null],
    });
    expect(secrets.struck('GET /?a=a%22b%5cc-t%c3%b6ken')).toBe(`GET /?a=${STRUCK}`);
    expect(secrets.struck(`Basic ${Buffer.from('boss:short').toString('base64')}`)).toBe(`Basic ${STRUCK}`);
  });

  it('is a credential of fewer than eight characters in sentences alone, as a word', () => {
    const secrets = new Secrets({ token: null, operator });
    expect(secrets.struck('a short name')).toBe('a short name');
    expect(secrets.inSentence('the "short" one, a shortcut')).toBe(`the "${STRUCK}" one, a shortcut`);
    expect(secrets.short).toEqual(['password']);
    const log = keptLog();
    call('http://127.0.0.1:1', { log, credentials: { token: 'ok-long-enough', operator } });
    expect(log.lines).toEqual([expect.stringMatching(/^warn the password for the server has less than 8 characters/)]);
  });

  it('is no text that a caller gave, who would see by it what he has guessed', () => {
    const secrets = new Secrets({ token: 'guessable', operator: null });
    secrets.giveBody(Buffer.from('{"eventEn":"is it guessable?","success":true}'));
    secrets.give('guessable');
    expect(secrets.struck('is it guessable?')).toBe('is it guessable?');
    expect(secrets.struck('guessable')).toBe('guessable');
    expect(secrets.struck('it is guessable')).toBe(`it is ${STRUCK}`);
  });

  it('is no text of audit entries that somebody could guess, which a later Keyway would tell him, and changes no other text', () => {
    const entry = (text: string) => ({ eventEn: text });
    const secrets = new Secrets({ token: 'guessable', operator: { username: 'boss', password: 'beyond guessing' } });
    expect(secrets.struckForStrangers(entry('is it guessable?'))).toEqual(entry('is it guessable?'));
    expect(secrets.struckForStrangers(entry('beyond guessing'))).toEqual(entry(STRUCK));
    secrets.struckForStrangers(entry(`x ${STRUCK}`));
    expect(secrets.written(secrets.struck('x guessable'))).toBe('x guessable');
  });

  it('stays struck out in lists after somebody has asked for it by name', async () => {
    const token = 'token-of-the-server';
    const key = { ...{ access_key: `k ${token}`, name: null, bytes_up: 0, bytes_down: 0 } };
    const snapshot = { ...key, connections: 0, limit_bytes: null, online: false };
    const { origin } = await scriptedServer((request, response) => {
      if (request.url?.endsWith('/status') === true) response.end(envelope(STATUS));
      else response.end(envelope(request.url?.endsWith('/users') === true ? [snapshot] : snapshot));
    });
    const server = call(origin, { credentials: { token, operator: null } });
    await server.getUser(`k ${token}`);
    expect((await server.listUsers()).value.map(({ accessKey }) => accessKey)).toEqual([`k ${STRUCK}`]);
  });

  it('becomes the server’s own text again, and none where two look alike', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 3 }), (parts) => {
        const secrets = new Secrets({ token: 'token-of-the-server', operator: null });
        const text = parts.join('token-of-the-server');
        const shown = secrets.struck(text);
        expect(shown).not.toContain('token-of-the-server');
        const body = (value: string) => Buffer.from(JSON.stringify({ [value]: [value, 'other', 1] }));
        expect(secrets.own(shown)).toBe(text);
        expect(secrets.restored(body(shown))).toEqual(body(text));
      }),
      { seed: 25 },
    );
    const secrets = new Secrets({
      token: 'token-of-the-server',
      operator: { username: 'boss', password: 'pass-of-it' },
    });
    expect([secrets.struck('x pass-of-it'), secrets.struck('x token-of-the-server')]).toEqual([
      `x ${STRUCK}`,
      `x ${STRUCK}`,
    ]);
    expect(() => secrets.restored(Buffer.from(`{"name":"x ${STRUCK}"}`))).toThrow(STRUCK);
  });
});
