import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { createCaller } from '../../src/client/caller.js';
import { type FindOptions, findLine } from '../../src/client/find-line.js';
import type { ClockPort } from '../../src/core/ports.js';
import { PASSWORD, revisionNamed, startLiveServer, TOKEN, USERNAME } from '../lab/live-server.js';
import { CREDENTIALS } from '../stand-in/files.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import type { StandIn } from '../stand-in/stand-in.js';
import { LOSES_NOTHING, standInOf } from '../stand-in/test-stand-in.js';
import { BY_LOGIN, BY_TOKEN, call, envelope, handClock, keptLog, LINES, STATUS } from './called-server.js';

const find = async (origin: string, options: Partial<FindOptions> = {}) => {
  const caller = createCaller({ origin, timeoutMilliseconds: 60_000 });
  try {
    return await findLine({
      caller,
      lines: LINES,
      webpath: '',
      revision: null,
      token: null,
      strike: (data) => data,
      ...options,
    });
  } finally {
    caller.close();
  }
};

async function signIn({ origin, paths }: StandIn): Promise<string> {
  const { username, password } = CREDENTIALS;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ username, password });
  const answer = await fetch(`${origin}${paths.api}/login`, { method: 'POST', headers, body });
  return ((await answer.json()) as { readonly data: { readonly token: string } }).data.token;
}

/** Answers one path with a status of this version, and all others with the page of a panel. */
const reporting = (version: string, path = '/panel/api/server/status') =>
  scriptedServer((request, response) => {
    response.end(request.url === path ? envelope({ ...STATUS, version }) : '<!doctype html>');
  });

const NEWEST = REVISIONS.at(-1)?.id ?? '';

/** A server with one session, by a clock; what it makes and how it goes is in `state`. */
async function oneSession(clock: ClockPort) {
  const state = {
    session: null as string | null,
    startedAt: clock.monotonic(),
    made: [] as unknown[],
    isDead: false,
    /** Whether a login alone has no answer. */
    cutsLogins: false,
    /** Whether a login alone fails, in an envelope. */
    failsLogins: false,
    /** Its `Retry-After` while it takes no sign-in, null for none. */
    refuses: undefined as string | null | undefined,
  };
  let sessions = 0;
  const server = await scriptedServer(async (request, response) => {
    const path = request.url?.replace(/^(\/panel)?\/api/, '') ?? '';
    if (state.isDead || (state.cutsLogins && path === '/login')) request.socket.destroy();
    else if (path === '/login' && state.failsLogins) response.writeHead(500).end('{"ok":false,"error":"not ready"}');
    else if (path === '/login' && state.refuses !== undefined) {
      if (state.refuses !== null) response.setHeader('retry-after', state.refuses);
      response.writeHead(429).end('{"ok":false,"error":"too many sign-in attempts, wait a minute"}');
    } else if (path === '/login') {
      state.session = `session-${++sessions}-of-this-server`;
      response.end(envelope({ token: state.session }));
    } else if (state.session === null || request.headers.authorization !== `Bearer ${state.session}`)
      response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
    else if (path === '/server/status') {
      const uptime = Math.floor((clock.monotonic() - state.startedAt) / 1000);
      response.end(envelope({ ...STATUS, version: '0.2.48', uptime_seconds: uptime }));
    } else if (request.method === 'POST') {
      state.made.push(JSON.parse(String(Buffer.concat(await request.toArray()))).access_key);
      response.end(envelope('done'));
    } else response.end(envelope([]));
  });
  return { ...server, state };
}

describe('the line of a server', () => {
  it.each([
    ['0.2.31', '/api/server/status', 'earliest', null],
    ['0.2.96', '/panel/api/server/status', 'current', null],
    ['v0.2.48', '/panel/api/server/status', 'dns', null],
    [
      '0.4.99',
      '/panel/api/server/status',
      NEWEST,
      /0\.4\.99, later than .* it is called as line .* until --upstream-revision names a line$/,
    ],
    ['0.3.22', '/panel/api/server/status', '0.3.7', /later/],
    ['1.2.0', '/panel/api/server/status', NEWEST, /later/],
  ])('that reports %s at %s is %s', async (version, path, line, note) => {
    const { origin } = await reporting(version, path);
    const found = await find(origin);
    expect(found).toMatchObject({ kind: 'server', access: 'open', revision: { id: line }, status: { version } });
    if (found.kind === 'server') expect(found.note ?? '').toMatch(note ?? /^$/);
  });

  it.each([
    ['release', {}, null],
    ['beta without DNS endpoints', { lacking: ['dns'] }, /before 0\.4\.6-beta\.4, for it has no DNS endpoints/],
    ['build without an endpoint', { lacking: ['endpoint', 'dns'] }, /before 0\.4\.6-beta\.1, for it has no endpoint/],
  ] as const)('that reports 0.4.6 and is a %s is called as that, and the note says which it is', async (_, options, note) => {
    const standIn = await standInOf('0.4.6', { ...LOSES_NOTHING, ...options });
    for (const credentials of [{ token: CREDENTIALS.token }, { session: () => signIn(standIn) }]) {
      const found = await find(standIn.origin, { webpath: 'panel', ...credentials });
      expect(found).toMatchObject({ kind: 'server', revision: { id: '0.4.6' } });
      if (found.kind === 'server') expect(found.note ?? '').toMatch(note ?? /^$/);
    }
  });

  it.each(['0.1.9', 'nightly', ''])('that reports %j is none that is known', async (version) => {
    const { origin } = await reporting(version);
    expect(await find(origin)).toMatchObject({ kind: 'server', revision: null, status: { version } });
    await expect(call(origin).status()).rejects.toMatchObject({ code: 'upstreamAway' });
    // Unless one is named.
    const server = call(origin, { revision: revisionNamed('current') });
    expect((await server.status()).value.version).toBe(version);
    expect(server.line()?.id).toBe('current');
  });

  it('that is named stays, and another one that it reports is said', async () => {
    const { origin } = await reporting('0.2.60');
    const log = keptLog();
    const server = call(origin, { log, revision: revisionNamed('current') });
    await server.status();
    expect(server.line()?.id).toBe('current');
    expect(log.lines.join('\n')).toContain('it reports version 0.2.60 of line 0.2.51, and is called as line current');
  });

  it('whose API stands elsewhere than the version says is not taken for it', async () => {
    const { origin } = await reporting('0.2.34');
    const found = await find(origin);
    expect(found).toMatchObject({ kind: 'none' });
    expect(found.kind === 'none' && found.answers.join()).toContain(
      'reports version "0.2.34", whose API stands elsewhere',
    );
  });

  it('below a web path is found there, and nowhere else', async () => {
    const { origin } = await startLiveServer('current', {}, { listener: { webpath: 'secret' } });
    const token = TOKEN;
    expect(await find(origin, { token, webpath: 'secret' })).toMatchObject({ apiRoot: '/secret/api', access: 'token' });
    expect(await find(origin, { token })).toMatchObject({ kind: 'none' });
  });
});

describe('a server that lets in', () => {
  it.each([
    ['by a token', '0.2.34', BY_TOKEN, 'token'],
    ['by a session alone', '0.2.48', BY_LOGIN, 'session'],
    ['by a session alone, though a token is given', '0.2.43', { ...BY_LOGIN, token: TOKEN }, 'session'],
    ['by either, given a login', '0.2.96', BY_LOGIN, 'session'],
    ['by either, given both', '0.2.96', { ...BY_LOGIN, token: TOKEN }, 'token'],
  ])('%s is called so', async (_, version, credentials, access) => {
    const { origin } = await startLiveServer(version);
    let logins = 0;
    const session = async (apiRoot: string) => {
      logins += 1;
      const answer = await fetch(`${origin}${apiRoot}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: USERNAME, password: PASSWORD }),
      });
      const { data } = JSON.parse(await answer.text());
      return String(data.token);
    };
    const { token, operator } = credentials;
    const found = await find(origin, { token, ...(operator === null ? {} : { session }) });
    expect(found).toMatchObject({ kind: 'server', access });
    expect(logins).toBe(access === 'session' ? 1 : 0);
    expect((await call(origin, { credentials }).listUsers()).value).toHaveLength(2);
  });

  it.each([
    ['0.2.48', 'nothing', { token: null, operator: null }, /give --upstream-token; give --upstream-username/],
    ['0.2.48', 'a token alone', BY_TOKEN, /refuses the token.*; give --upstream-username and --upstream-password/],
    ['0.2.34', 'a wrong token', { token: 'wrong', operator: null }, /refuses the token/],
    [
      '0.2.96',
      'a wrong password',
      { token: null, operator: { username: USERNAME, password: 'wrong' } },
      /refuses --upstream-username and --upstream-password/,
    ],
    ['0.2.34', 'a login where there is none', BY_LOGIN, /it has no login/],
  ])('somebody else: %s, given %s, says what is missing', async (version, _, credentials, reason) => {
    const { origin } = await startLiveServer(version);
    const refused = call(origin, { credentials }).status();
    await expect(refused).rejects.toMatchObject({ code: 'upstreamRefused', detail: expect.stringMatching(reason) });
  });

  it('one session: who signs in there takes it, and a caller gets it back', async () => {
    const { origin, app } = await startLiveServer('0.2.48', {}, { loginGuard: 'off' });
    const clock = handClock();
    const log = keptLog();
    let lost = 0;
    const sessionLost = () => {
      lost += 1;
    };
    const observer = { called() {}, sessionLost };
    const server = call(origin, { credentials: BY_LOGIN, clock, log, observer });
    await server.listUsers();
    expect(log.lines.join('\n')).toContain('one session');
    const payload = { username: USERNAME, password: PASSWORD };
    expect((await app.inject({ method: 'POST', url: '/panel/api/login', payload })).statusCode).toBe(200);
    const refused = { code: 'upstreamRefused', detail: expect.stringContaining('session of Keyway has ended') };
    await expect(server.listUsers({ purpose: 'poll' })).rejects.toMatchObject(refused);
    await server.setLimit('foreign-1', 5n);
    expect((await app.inject({ method: 'POST', url: '/panel/api/login', payload })).statusCode).toBe(200);
    clock.pass(10_000);
    const taken = { code: 'upstreamRefused', retryAfter: 20, detail: expect.stringContaining('somebody else has it') };
    await expect(server.deleteUser('foreign-1')).rejects.toMatchObject(taken);
    expect((await server.subscription('foreign-1')).value).toBeDefined();
    expect(server.troubles()[0]?.kind).toBe('refused');
    clock.pass(20_000);
    await expect(server.listUsers({ purpose: 'poll' })).rejects.toMatchObject({ code: 'upstreamRefused' });
    await server.deleteUser('foreign-1');
    expect((await server.listUsers({ purpose: 'poll' })).value).toHaveLength(1);
    expect([server.troubles(), lost]).toEqual([[], 2]);
  });

  it('restarted again and again: each write is made once, without a pause', async () => {
    const clock = handClock();
    const { origin, seen, state } = await oneSession(clock);
    const server = call(origin, { credentials: BY_LOGIN, clock });
    await server.status();
    for (let round = 0; round < 4; round += 1) {
      clock.pass(2_000);
      Object.assign(state, { session: null, startedAt: clock.monotonic() });
      await server.createUser({ accessKey: `key-${round}`, name: null, limitBytes: null });
    }
    expect(state.made).toEqual(['key-0', 'key-1', 'key-2', 'key-3']);
    expect(seen.filter((each) => each.endsWith('/login'))).toHaveLength(5);
  });

  it('that gives a login in the middle of a call no answer is away, and has not made the change', async () => {
    const clock = handClock();
    const { origin, state } = await oneSession(clock);
    const server = call(origin, { credentials: BY_LOGIN, clock });
    await server.status();
    Object.assign(state, { session: null, cutsLogins: true });
    const key = { accessKey: 'a', name: null, limitBytes: null };
    const away = { code: 'upstreamAway', mayHaveHappened: false, retryAfter: 5 };
    await expect(server.createUser(key)).rejects.toMatchObject(away);
    expect(server.troubles()).toMatchObject([{ of: 'sign-in', kind: 'away' }]);
    state.cutsLogins = false;
    await server.createUser(key);
    expect([state.made, server.troubles()]).toEqual([['a'], []]);
  });

  it('that fails at a login has not refused name and password: the next call signs in', async () => {
    const clock = handClock();
    const { origin, state } = await oneSession(clock);
    const server = call(origin, { credentials: BY_LOGIN, clock });
    state.failsLogins = true;
    const away = { code: 'upstreamAway', detail: expect.stringContaining('POST /login: it answered 500: not ready') };
    await expect(server.listUsers()).rejects.toMatchObject(away);
    state.failsLogins = false;
    expect((await server.listUsers()).value).toEqual([]);
    expect(server.troubles()).toEqual([]);
  });

  it('is looked at without a sign-in: a 401 says that it lives', async () => {
    const clock = handClock();
    const { origin, seen, state } = await oneSession(clock);
    const outcomes: string[] = [];
    const observer = { called: ({ outcome }: { outcome: string }) => void outcomes.push(outcome), sessionLost() {} };
    const server = call(origin, { credentials: BY_LOGIN, clock, observer });
    await server.status('look').catch(() => undefined);
    expect(seen.filter((each) => each.endsWith('/login'))).toEqual([]);
    await server.status();
    const logins = () => seen.filter((each) => each.endsWith('/login')).length;
    state.isDead = true;
    await expect(server.status('look')).rejects.toMatchObject({ code: 'upstreamAway' });
    expect(server.troubles()).toMatchObject([{ kind: 'away' }]);
    // It was started anew, and takes the session no more.
    Object.assign(state, { isDead: false, session: null, startedAt: clock.monotonic() });
    await expect(server.status('look')).rejects.toMatchObject({ code: 'upstreamRefused' });
    await expect(server.status('look')).rejects.toMatchObject({ code: 'upstreamRefused' });
    expect([server.troubles(), logins()]).toEqual([[], 1]);
    await server.createUser({ accessKey: 'after', name: null, limitBytes: null });
    expect([state.made, logins()]).toEqual([['after'], 2]);
    expect(outcomes).toEqual(['answered', 'answered', 'away', 'answered', 'answered', 'answered']);
  });

  it.each([
    ['30', 30],
    [undefined, 10],
    ['99999999999', 3600],
    ['soon', 10],
  ])('that takes no sign-in, with Retry-After %s: it is asked again when that is over', async (retryAfter, seconds) => {
    const clock = handClock();
    const { origin, seen, state } = await oneSession(clock);
    const server = call(origin, { credentials: BY_LOGIN, clock });
    state.refuses = retryAfter ?? null;
    const refused = { code: 'upstreamRefused', isForNow: true, retryAfter: seconds };
    await expect(server.listUsers()).rejects.toMatchObject(refused);
    clock.pass(seconds * 1000 - 1);
    await expect(server.listUsers()).rejects.toMatchObject({ ...refused, retryAfter: 1 });
    expect(server.troubles()).toMatchObject([{ kind: 'refused', reason: expect.stringContaining('no sign-in now') }]);
    clock.pass(1);
    state.refuses = undefined;
    expect((await server.listUsers()).value).toEqual([]);
    expect(seen.filter((each) => each.endsWith('/login'))).toHaveLength(2);
    expect(server.troubles()).toEqual([]);
  });
});

describe('a server that was updated underneath', () => {
  it('is taken over as its new line by the next status, and said', async () => {
    let version = '0.2.96';
    const { origin } = await scriptedServer((request, response) => {
      response.end(request.url?.endsWith('/users') ? envelope([]) : envelope({ ...STATUS, version }));
    });
    const log = keptLog();
    const server = call(origin, { log });
    const lines: (string | undefined)[] = [];
    server.onChange(() => lines.push(server.line()?.id));
    await server.listUsers();
    version = '0.3.21';
    await server.status('poll');
    expect([server.line()?.id, server.version(), lines]).toEqual(['0.3.7', '0.3.21', ['current', '0.3.7']]);
    expect(log.lines.filter((line) => line.includes('has become another version'))).toHaveLength(1);
  });

  it('is found where its new line has its API, and by whom it lets in now', async () => {
    let isNew = false;
    const { origin, seen } = await scriptedServer((request, response) => {
      const { url = '', headers } = request;
      const root = isNew ? '/panel/api' : '/api';
      if (!url.startsWith(`${root}/`)) return response.end('<!doctype html>');
      const isIn = headers.authorization === (isNew ? 'Bearer session-1' : `Bearer ${TOKEN}`);
      if (url.endsWith('/login')) return response.end(envelope({ token: 'session-1' }));
      if (!isIn) return response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
      const version = isNew ? '0.2.48' : '0.2.35';
      return response.end(url.endsWith('/users') ? envelope([]) : envelope({ ...STATUS, version }));
    });
    const server = call(origin);
    await server.listUsers();
    expect(server.line()?.id).toBe('0.2.35');
    isNew = true;
    expect((await server.listUsers()).value).toEqual([]);
    expect(server.line()?.id).toBe('dns');
    expect(seen.filter((each) => each.startsWith('POST'))).toEqual(['POST /panel/api/login']);
  });

  it('whose write met the change is told that nothing came of it, and the next one goes where it should', async () => {
    let isNew = false;
    const { origin, seen } = await scriptedServer((request, response) => {
      const { url = '' } = request;
      if (!url.startsWith(isNew ? '/panel/api/' : '/api/')) return response.writeHead(405).end('');
      return response.end(
        envelope(url.endsWith('/status') ? { ...STATUS, version: isNew ? '0.2.96' : '0.2.34' } : 'a'),
      );
    });
    const server = call(origin, { credentials: { token: null, operator: null } });
    await server.find();
    isNew = true;
    const key = { accessKey: 'a', name: null, limitBytes: null };
    await expect(server.createUser(key)).rejects.toMatchObject({ code: 'upstreamAway', mayHaveHappened: false });
    await server.createUser(key);
    expect(seen.filter((each) => each.startsWith('POST'))).toEqual(['POST /api/users', 'POST /panel/api/users']);
  });
});
