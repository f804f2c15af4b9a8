import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCaller } from '../../src/client/caller.js';
import { createControl } from '../../src/client/signed-in-caller.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { createFixedClock } from '../../src/embedded/stage.js';
import { OwnKeys } from '../../src/lab/live/own-keys.js';
import { readState, restoreKeyLists } from '../../src/lab/live/saved-state.js';
import { stateChanges } from '../../src/lab/live/state-changes.js';
import type { TargetOptions } from '../../src/lab/live/target-player.js';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { apiOf, CREDENTIALS, fileOf } from '../stand-in/files.js';
import { bodyOf, scriptedServer } from '../stand-in/scripted-server.js';
import type { StandIn, StandInOptions } from '../stand-in/stand-in.js';
import { keysOf, standInOf } from '../stand-in/test-stand-in.js';
import { PASSWORD, playerOn, revisionNamed, startLiveServer, TOKEN, USERNAME } from './live-server.js';

/** What a front does with a request: headers that it adds, or an answer of its own. */
type Front = (request: {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}) => Fronted | Promise<Fronted>;

interface Fronted {
  /** Whether nothing answers. */
  readonly isGone?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer?: unknown;
  /** Of that answer; 200 when left out. */
  readonly status?: number;
}

function controlOf({ origin, webpath, credentials }: Pick<TargetOptions, 'origin' | 'webpath' | 'credentials'>) {
  const revision = revisionNamed('0.2.96');
  const caller = createCaller({ origin, timeoutMilliseconds: 10_000 });
  onTestFinished(() => caller.close());
  const { api, base } = revision.root.paths(webpath);
  return createControl(caller, { target: { origin, apiRoot: api, base }, revision, credentials });
}

/** A server of 0.2.96 that is wrong in one thing, and the bodies that were sent to it. */
async function wrongServer(front: Front, options: Partial<StandInOptions> = {}) {
  const standIn = await standInOf('0.2.96', { pauseMilliseconds: 0, clock: createFixedClock(), ...options });
  const bodies: string[] = [];
  const { origin } = await scriptedServer(async (request, response) => {
    const { method = '', url: path = '' } = request;
    const body = await bodyOf(request);
    bodies.push(body);
    const { headers: added = {}, answer, status = 200, isGone = false } = await front({ method, path, body });
    if (isGone) {
      request.socket.destroy();
      return;
    }
    if (answer !== undefined) {
      response.writeHead(status, { ...added, 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    const { host: _, connection: __, 'content-length': ___, ...kept } = request.headers;
    const headers = { ...(kept as Record<string, string>), ...added };
    const options = { method, headers, redirect: 'manual' as const, ...(body === '' ? {} : { body }) };
    const passed = await fetch(standIn.origin + path, options);
    const bytes = Buffer.from(await passed.arrayBuffer());
    response.writeHead(passed.status, Object.fromEntries(passed.headers)).end(bytes);
  });
  return { standIn, bodies, url: `${origin}/panel` };
}

/** A server of which so many reads fail from a moment on, the player that met it before, and the pauses that it made. */
async function failingServer() {
  const failing = { reads: 0, answer: { status: 401, headers: { 'retry-after': '60' } } as Fronted };
  const server = await wrongServer(({ method }) => {
    if (method !== 'GET' || failing.reads === 0) return {};
    failing.reads -= 1;
    return { ...failing.answer, answer: { ok: false, error: 'unauthorized' } };
  });
  const credentials = { token: CREDENTIALS.token, operator: null };
  const target = { origin: new URL(server.url).origin, webpath: 'panel', credentials };
  const pauses: number[] = [];
  const pause = async (milliseconds: number) => void pauses.push(milliseconds);
  const player = await playerOn(target.origin, '0.2.96', { ...target, pause });
  return { ...server, target, player, failing, pauses };
}

/** What a server says that has not done it. */
const DONE = { ok: true, data: 'User removed' };

/** Scenarios of the pack, such as `current/create-user`; all of the line when left out. */
const writing = (url: string, ...scenarios: readonly string[]) => {
  const paths = scenarios.map((name) => join(ROOT, 'fixtures', `${name}.json`));
  const flags = ['--target', url, '--revision', '0.2.96', '--writes', '--username', CREDENTIALS.username];
  return runHere(['replay', ...flags, ...paths], {
    environment: { KEYWAY_TOKEN: CREDENTIALS.token, KEYWAY_PASSWORD: CREDENTIALS.password },
    // Stand-ins here read their files so much faster than servers do.
    wait: (milliseconds) => sleep(milliseconds / 20),
  });
};

describe('the state after a run', () => {
  test('is read again where it could not be read, and is as before then', async () => {
    const { player, failing, pauses } = await failingServer();
    // Configuration, audit list, keys, rules: all of a look, and half of the next one.
    failing.reads = 6;
    expect((await player.finish()).left).toEqual([]);
    expect(pauses).toEqual([1000, 2000]);
  });

  test('is not said to be another one where it cannot be read, but why', async () => {
    const { player, failing, pauses } = await failingServer();
    failing.reads = Number.POSITIVE_INFINITY;
    const why = (path: string) => `GET ${path} answers 401 unauthorized and asks to wait 60 s`;
    expect((await player.finish()).left).toEqual([
      `the keys could not be read: ${why('/users')}`,
      `the outbound rules could not be read: ${why('/router/rules')}`,
      `the configuration could not be read: ${why('/server/config')}`,
    ]);
    expect(pauses).toEqual([1000, 2000, 4000]);
  });

  test('is not held against what could not be read before', async () => {
    const { target, failing, standIn } = await failingServer();
    const control = controlOf(target);
    failing.reads = Number.POSITIVE_INFINITY;
    const before = await readState(control, revisionNamed('0.2.96'));
    failing.reads = 0;
    const after = await readState(control, revisionNamed('0.2.96'));
    expect(after.keys).toHaveLength(standIn.keys().length);
    expect(stateChanges(before, after)).toEqual([]);
  });

  test('has the keys that others make while the key lists of the file are put back, however often they do', async () => {
    const made: string[] = [];
    const others: { standIn?: StandIn } = {};
    const { standIn, url } = await wrongServer(
      async ({ method, path }) => {
        if (others.standIn === undefined || made.length === 2 || method !== 'PUT' || !path.endsWith('/server/config'))
          return {};
        const key = `instant-${made.length}`;
        made.push(key);
        await apiOf(others.standIn)('POST', '/users', { access_key: key });
        return {};
      },
      { reloadFactor: 0 },
    );
    const revision = revisionNamed('0.2.96');
    const credentials = { token: CREDENTIALS.token, operator: null };
    const control = controlOf({ origin: new URL(url).origin, webpath: 'panel', credentials });
    const saved = await readState(control, revision);
    await apiOf(standIn)('POST', '/users', { access_key: 'own-left' });
    others.standIn = standIn;
    expect(await restoreKeyLists({ control, own: new OwnKeys('own-') }, saved, revision, '0.2.96')).toBeNull();
    await standIn.reload();
    const keys = standIn.keys().map(({ accessKey }) => accessKey);
    expect(keys.sort()).toEqual(['alpha', 'beta', 'instant-0', 'instant-1']);
  });
});

/** A reset of a key that was made in bulk. */
const OF_BULK = /\/users\/[0-9a-f]{16}\/reset$/;

describe('keyway replay --writes', () => {
  test.each(['POST', 'DELETE'])('notices a server that takes a %s of a key from anybody', async (open) => {
    const headers = { authorization: `Bearer ${CREDENTIALS.token}` };
    const { standIn, url } = await wrongServer(({ method, path }) =>
      method === open && path.startsWith('/panel/api/users') ? { headers } : {},
    );
    const ended = await writing(url, 'current/create-user');
    expect(ended.output).toContain('DIFFERENT writes/no-credential: ');
    expect(ended.output).toContain('without a credential');
    expect(ended.code).toBe(1);
    expect(standIn.keys()).toHaveLength(2);
  });

  test('says last which keys a server has kept that says it removed them and took its configuration back, and exits 1', async () => {
    const { url } = await wrongServer(({ method, path }) =>
      method === 'DELETE' || (method === 'PUT' && path.endsWith('/server/config')) ? { answer: DONE } : {},
    );
    const ended = await writing(url, 'current/create-user');
    expect(ended.complaints.trim().split('\n').at(-1)).toMatch(
      /^keyway replay: not as before: (?:keys that were not there before: \d+|the configuration is not as before: .*access_keys.*)$/,
    );
    expect(ended.complaints).toContain('not as before: keys that were not there before: ');
    expect(ended.code).toBe(1);
  });

  test('never sends a key that no operation removes, and says which steps it leaves out', async () => {
    const { standIn, bodies, url } = await wrongServer(() => ({}));
    const ended = await writing(url, 'recorded/0.2.96/names', 'current/key-names', 'current/create-user');
    expect(ended.output).toContain('it makes an empty key, which no operation removes');
    expect(bodies.filter((body) => body.includes('"access_key"')).length).toBeGreaterThan(20);
    expect(bodies.filter((body) => /"access_key"\s*:\s*""/.test(body))).toEqual([]);
    expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
  });

  test('removes no key of others that a server names as made', async () => {
    const { standIn, url } = await wrongServer(({ method, path }) =>
      method === 'POST' && path.endsWith('/users') ? { answer: { ok: true, data: 'alpha' } } : {},
    );
    const ended = await writing(url, 'current/create-user');
    expect(ended.code).toBe(1);
    expect(standIn.keys().map(({ accessKey }) => accessKey)).toContain('alpha');
  });

  test('plays keys made in bulk again where a look of the server at its file fell between the steps', async () => {
    let resets = 0;
    const { url } = await wrongServer(({ path }) => {
      if (!OF_BULK.test(path)) return {};
      resets += 1;
      return resets === 1 ? { answer: { ok: true, data: true } } : {};
    });
    const ended = await writing(url, 'recorded/0.2.96/bulk');
    expect(ended.output).toMatch(/^equal {5}bulk: /m);
    expect(ended.code).toBe(0);
    const always = await wrongServer(({ path }) => (OF_BULK.test(path) ? { answer: { ok: true, data: true } } : {}));
    expect((await writing(always.url, 'recorded/0.2.96/bulk')).code).toBe(1);
  });

  test('says what may be left on a server that has gone, and exits 1', async () => {
    let made = 0;
    const { url } = await wrongServer(({ method, path }) => {
      if (method === 'POST' && path.endsWith('/users')) made += 1;
      return { isGone: made > 4 };
    });
    const ended = await writing(url, 'current/create-user', 'current/key-names');
    expect(ended.complaints).toMatch(
      /not as before: not all could be undone, keys that begin with keyway-replay-\w+- may/,
    );
    expect(ended.complaints).toContain('not as before: it could not be read whether all is as before: ');
    expect(ended.code).toBe(1);
  });

  test('finds a server compatible that has no key which a path could name, its links by a key of the run', async () => {
    const text = fileOf('0.2.96').replace(/("access_keys": )\[.*\]/, '$1[]');
    const standIn = await standInOf('0.2.96', { pauseMilliseconds: 0, clock: createFixedClock() }, text);
    await apiOf(standIn)('POST', '/users', { access_key: '' });
    const ended = await writing(`${standIn.origin}/panel`, 'current/subscribe');
    expect(ended.output).not.toMatch(/^(DIFFERENT|BROKEN)/m);
    expect(ended.output).toMatch(/^equal {5}subscribe: /m);
    expect(ended.code).toBe(0);
    expect(standIn.keys().map(({ accessKey }) => accessKey)).toEqual(['']);
  });
});

test('keyway replay shows nobody a key of the server', async () => {
  const { standIn, url } = await wrongServer(({ path }) =>
    path.includes('/subscribe/') ? { answer: { ok: true, data: 'ostp://alpha@elsewhere' } } : {},
  );
  const ended = await runHere(['replay', '--target', url, '--revision', '0.2.96'], {
    environment: { KEYWAY_TOKEN: CREDENTIALS.token },
  });
  expect(ended.output).toContain('DIFFERENT reads/share-link');
  expect(ended.output).toContain('ostp://<key>@elsewhere');
  for (const { accessKey } of standIn.keys()) expect(ended.output).not.toContain(`"${accessKey}"`);
});

test('keyway replay holds no query that stands in the log against a server', async () => {
  const query = { timestamp: 1_750_000_000, domain: 'a.example', clientIp: '192.0.2.1', blocked: false };
  const resolver = { ...createNoResolver(), queries: () => [query] };
  const { origin } = await startLiveServer('0.2.48', {}, { resolver });
  const scenario = join(ROOT, 'fixtures/dns/dns-control.json');
  const argv = ['replay', scenario, '--target', `${origin}/panel`, '--revision', '0.2.48', '--username', USERNAME];
  const environment = { KEYWAY_TOKEN: TOKEN, KEYWAY_PASSWORD: PASSWORD };
  const ended = await runHere([...argv, '--writes'], { environment });
  expect(ended.output).toMatch(/^equal {5}.*dns-control: /m);
  expect(ended.code).toBe(0);
});
