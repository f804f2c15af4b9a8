import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { revisionTable } from '../../revisions/table.js';
import { playEmbedded } from '../../src/embedded/play.js';
import { effectOf } from '../../src/lab/format/effects.js';
import { isExchange } from '../../src/lab/format/scenario.js';
import type { ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { startProxy } from '../../src/lab/record/proxy.js';
import { Recorder } from '../../src/lab/record/recorder.js';
import type { writeJson } from '../../src/wire/json/write-json.js';
import { openApiDocument } from '../../src/wire/openapi/openapi.js';
import type { OperationRow } from '../../src/wire/operations/operation.js';
import { unrefusedOperations, unshownFailures, unshownOperations } from '../acceptance/coverage.js';
import { playerOn, startLiveServer, TOKEN } from '../lab/live-server.js';
import { askEverything, CREDENTIALS } from '../northbound/auth-matrix.js';
import { gatewayForTest } from '../northbound/gateway.js';
import { someOf } from '../whole.js';
import { freezeUser, line9_9_9, NO_SUCH_USER } from './made-up.js';

/*
 * The made-up line goes into the tables as whoever adds one would put it there: its record into the list of revisions, the
 * row of its operation into the file of its subject, and its handler beside the others. Nothing else is told of it.
 */
vi.mock('../../revisions/all.js', async (original) => {
  const all = await original<typeof import('../../revisions/all.js')>();
  const { line9_9_9: record } = await import('./made-up.js');
  return { ...all, REVISIONS: [...all.REVISIONS, record] };
});
vi.mock('../../src/wire/operations/users.js', async (original) => {
  const { USERS } = await original<typeof import('../../src/wire/operations/users.js')>();
  const { MADE_ROWS } = await import('./made-up.js');
  return { USERS: { ...USERS, ...MADE_ROWS } };
});
vi.mock('../../src/northbound/handlers.js', async (original) => {
  const handlers = await original<typeof import('../../src/northbound/handlers.js')>();
  const { MADE_HANDLERS } = await import('./made-up.js');
  return { ...handlers, HANDLERS: { ...handlers.HANDLERS, ...MADE_HANDLERS } };
});

const others = REVISIONS.filter((each) => each !== line9_9_9);

function asJson(value: Parameters<typeof writeJson>[0] | ReturnType<typeof openApiDocument>): string {
  return JSON.stringify(value, (_name, each) =>
    typeof each === 'bigint' ? String(each) : each instanceof Map ? Object.fromEntries(each) : each,
  );
}

describe('a line that is added by its record, the row of its operation and its handler', () => {
  it('is found by its version, and in the table of the lines', () => {
    expect(resolveRevision('9.9.9')).toMatchObject({ ok: true, revision: { id: '9.9.9' }, note: null });
    expect(revisionTable().at(-1)).toEqual(expect.arrayContaining(['9.9.9', 'frozen_until', 'login, freezing']));
  });

  it('is served: its operation, its snapshot member and its text; the lines before it do not have them', async () => {
    const revisions = ['9.9.9', 'current'];
    const app = await gatewayForTest({ mounts: revisions.map((revision) => ({ revision, webpath: revision })) });
    const ask = async (method: 'GET' | 'POST', url: string, payload: object = {}) => {
      const answer = await app.inject({ method, url, ...(method === 'GET' ? {} : { payload }) });
      return [answer.statusCode, answer.json()];
    };
    await ask('POST', '/9.9.9/api/users', { access_key: 'a' });
    const freeze = (mount: string, key: string) => ask('POST', `/${mount}/api/users/${key}/freeze`, { thaws_at: 't' });
    expect(await freeze('9.9.9', 'a')).toEqual([200, { ok: true, data: { frozen_key: 'a', thaws_at: '12:00:00' } }]);
    expect(await freeze('9.9.9', 'b')).toEqual([400, { ok: false, error: NO_SUCH_USER }]);
    expect(await freeze('current', 'a')).toEqual([404, { ok: false, error: 'not found' }]);
    expect(await ask('GET', '/9.9.9/api/users/b')).toEqual([400, { ok: false, error: NO_SUCH_USER }]);
    expect(await ask('GET', '/current/api/users/b')).toEqual([400, { ok: false, error: 'user not found' }]);
    expect(await ask('GET', '/9.9.9/api/users')).toMatchObject([200, { data: [{ frozen_until: '12:00:00' }] }]);
    expect(JSON.stringify(await ask('GET', '/current/api/users'))).not.toContain('frozen_until');
    expect(await ask('POST', '/9.9.9/api/users/a/freeze')).toEqual([
      400,
      { ok: false, error: 'thaws_at: expected a string' },
    ]);
  });

  it('is described: path, body, answer, snapshot member and text stand in its OpenAPI document and in no other', () => {
    const document = JSON.parse(asJson(openApiDocument(line9_9_9)));
    const described = document.paths['/users/{key}/freeze'].post;
    expect(described).toMatchObject({ operationId: 'freezeUser', summary: 'Freezes a key' });
    expect(asJson(described.requestBody)).toContain('thaws_at');
    expect(asJson(described.responses[200])).toContain('frozen_key');
    expect(described.responses[400].description).toContain(NO_SUCH_USER);
    const user = document.paths['/users/{key}'].get.responses[200].content['application/json'].schema;
    expect(user.properties.data.required).toContain('frozen_until');
    for (const other of others) expect(asJson(openApiDocument(other))).not.toMatch(/freeze|frozen|no such user/);
  });

  it.each(someOf(CREDENTIALS, 1))('is in the auth matrix, with %j', async (credentials) => {
    const { asked, wrong } = await askEverything(['9.9.9'], credentials);
    expect(asked).toContain('9.9.9 freezeUser');
    expect(wrong).toEqual([]);
  });

  it('is asked for by the coverage test until a scenario shows it', () => {
    const none = unshownOperations(line9_9_9, []);
    expect(none).toContain('freezeUser');
    expect(unrefusedOperations(line9_9_9, [])).toContain('freezeUser');
    expect(unshownFailures(line9_9_9, [])).toContain('error:userNotFound by freezeUser');
    for (const other of others) expect(unshownOperations(other, [])).not.toContain('freezeUser');
  });
});

/** A session that lists the keys, freezes one that it makes and one that is not there. */
async function recordSession(): Promise<Recorder> {
  const server = await startLiveServer('9.9.9');
  const recorder = new Recorder({
    apiRoot: '/panel/api',
    base: '/panel',
    revision: '9.9.9',
    traits: line9_9_9,
    date: '2026-11-21',
    keepValues: false,
  });
  let passed = 0;
  const proxy = await startProxy({
    origin: server.origin,
    listen: { host: '127.0.0.1', port: 0 },
    onExchange: (exchange) => {
      recorder.add(exchange);
      passed += 1;
    },
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(`${proxy.url}/panel/api${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data }: { data?: unknown } = JSON.parse(await answer.text());
    return data;
  };
  await call('GET', '/users');
  const key = await call('POST', '/users', {});
  await call('POST', `/users/${key}/freeze`, { thaws_at: 'noon' });
  await call('POST', '/users/nobody/freeze', { thaws_at: 'noon' });
  await vi.waitFor(() => expect(passed).toBe(4), { timeout: 20_000 });
  await server.close();
  return recorder;
}

describe('its recording', () => {
  it('keeps the names that its record has, shows what the server made as placeholders, and its own text', async () => {
    const { exchanges } = (await recordSession()).scenario(1);
    const [list, , frozen, refused] = exchanges;
    expect(list).toMatchObject({
      operation: 'listUsers',
      response: { body: { data: [{ access_key: '<key:1>', frozen_until: '<time>' }, { frozen_until: '<time>' }] } },
    });
    expect(frozen).toMatchObject({
      operation: 'freezeUser',
      request: { path: '/users/<key:3>/freeze', body: { thaws_at: '<text:1>' } },
      response: { body: { ok: true, data: { frozen_key: '<key:3>', thaws_at: '<time>' } } },
    });
    expect(refused).toMatchObject({ response: { status: 400, body: { ok: false, error: NO_SUCH_USER } } });
  });

  it('shows to the coverage test what it shows', async () => {
    const scenario = (await recordSession()).scenario(1);
    expect(unshownOperations(line9_9_9, [scenario])).not.toContain('freezeUser');
    const covering = { ...scenario, covers: ['error:userNotFound'] };
    expect(unshownFailures(line9_9_9, [covering])).not.toContain('error:userNotFound by freezeUser');
  });

  it('is played on a live server only with leave to write, and then leaves no key behind', async () => {
    const scenario = (await recordSession()).scenario(1);
    const file: ScenarioFile = { kind: 'scenario', name: 'session', path: 'session.json', scenario, register: null };
    const server = await startLiveServer('9.9.9');
    const keys = server.keys();
    const reading = await playerOn(server.origin, '9.9.9');
    expect(await reading.play(file, {})).toMatchObject({
      outcome: 'skipped',
      reason: expect.stringMatching(/--writes/),
    });
    expect((await reading.finish()).left).toEqual([]);
    const writing = await playerOn(server.origin, '9.9.9', { writes: true });
    expect(await writing.play(file, {})).toMatchObject({ outcome: 'equal', reason: null });
    expect((await writing.finish()).left).toEqual([]);
    expect(server.keys()).toEqual(keys);
  });

  it('replays equal on an embedded core', async () => {
    const scenario = (await recordSession()).scenario(1);
    const file: ScenarioFile = { kind: 'scenario', name: 'session', path: 'session.json', scenario, register: null };
    const options = { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false };
    expect(await playEmbedded(file, options)).toMatchObject({ outcome: 'equal', differences: [] });
  });
});

describe('what it does to a server', () => {
  it('stands in its row, without which there is no operation', () => {
    const { effect: _, ...rest } = freezeUser;
    // @ts-expect-error: an operation whose effect nobody has said would be taken for one that reads.
    const row: OperationRow = rest;
    expect(row).not.toHaveProperty('effect');
    expect(effectOf({ method: 'POST', path: '/users/a/freeze' })).toBe(freezeUser.effect);
  });

  it('keeps it from any live server, whatever is permitted, where it replaces what stands there', async () => {
    const scenario = (await recordSession()).scenario(1);
    const [step] = scenario.exchanges.filter(isExchange);
    if (step === undefined) throw new Error('nothing recorded');
    const melting = { ...step, request: { method: 'POST', path: '/melt' } };
    const server = await startLiveServer('9.9.9');
    const player = await playerOn(server.origin, '9.9.9', { writes: true });
    const reason = player.whyNot({ ...scenario, exchanges: [melting] });
    expect(reason).toBe('not seen, because that melts everything');
    expect((await player.finish()).left).toEqual([]);
  });

  it('to a key of somebody else is not sent', async () => {
    const scenario = (await recordSession()).scenario(1);
    const exchanges = scenario.exchanges.map((step) =>
      'request' in step ? { ...step, request: { ...step.request, path: '/users/foreign-1/freeze' } } : step,
    );
    const server = await startLiveServer('9.9.9');
    const player = await playerOn(server.origin, '9.9.9', { writes: true });
    const foreign = { ...scenario, exchanges: exchanges.slice(2, 3) };
    const file: ScenarioFile = {
      kind: 'scenario',
      name: 'foreign',
      path: 'foreign.json',
      scenario: foreign,
      register: null,
    };
    expect(await player.play(file, {})).toMatchObject({
      outcome: 'skipped',
      reason: 'step 1 changes a key that the scenario does not make',
    });
    expect((await player.finish()).left).toEqual([]);
  });
});
