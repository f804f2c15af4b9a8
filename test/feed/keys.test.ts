import { request } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createChangeLog, REMEMBERED_CHANGES } from '../../src/core/keys/change-log.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { startFeed } from '../../src/serve/feed.js';
import { removeFrom } from '../core/keys/remove-from.js';
import { folderForTest } from '../folder-for-test.js';
import { localOf } from '../local-of.js';
import { tries } from '../tries.js';
import { feedStage, logTo, report, until } from './stage.js';

interface KeysBody {
  readonly version: string;
  readonly complete: boolean;
  readonly keys: readonly {
    readonly access_key: string;
    readonly limit_bytes: number | null;
    readonly over_limit: boolean;
  }[];
  readonly removed: readonly string[];
}

const bodyOf = (answer: { readonly text: string }): KeysBody => JSON.parse(answer.text);

describe('GET /v1/keys', () => {
  it('lists every key with its limit and whether it is over it, exactly', async () => {
    const stage = await feedStage({
      keys: ['a', { access_key: 'b', limit_bytes: 5 }, { access_key: 'ц"', limit_bytes: 0 }],
    });
    await stage.gateway.core.setLimit('a', 2n ** 64n - 1n);
    await stage.post('/v1/usage', report(null, ['b', 2, 3]));
    const answer = await stage.get('/v1/keys');
    expect(answer.text).toContain('"limit_bytes":18446744073709551615');
    expect(bodyOf(answer)).toMatchObject({
      complete: true,
      keys: [
        { access_key: 'a', over_limit: false },
        { access_key: 'b', limit_bytes: 5, over_limit: true },
        { access_key: 'ц"', limit_bytes: 0, over_limit: true },
      ],
      removed: [],
    });
    expect(answer.headers.get('etag')).toBe(`"${bodyOf(answer).version}"`);
  });

  it('a list of more keys than are written at once is whole', async () => {
    const names = Array.from({ length: 5001 }, (_, index) => `key-${index}`);
    const stage = await feedStage({ keys: names });
    expect(bodyOf(await stage.get('/v1/keys')).keys.map(({ access_key }) => access_key)).toEqual(names);
  });

  it('with since gives what changed, and usage below the limit is no change', async () => {
    const stage = await feedStage({ keys: ['a', { access_key: 'b', limit_bytes: 5 }, 'c'] });
    const { version } = bodyOf(await stage.get('/v1/keys'));
    await stage.post('/v1/usage', report(null, ['a', 100, 100], ['b', 1, 1]));
    expect(bodyOf(await stage.get(`/v1/keys?since=${version}`))).toEqual({
      version,
      complete: false,
      keys: [],
      removed: [],
    });
    await stage.post('/v1/usage', report(null, ['b', 3, 0]));
    await stage.gateway.core.deleteUser('c');
    const changes = bodyOf(await stage.get(`/v1/keys?since=${version}`));
    expect(changes).toMatchObject({
      complete: false,
      keys: [{ access_key: 'b', limit_bytes: 5, over_limit: true }],
      removed: ['c'],
    });
    await stage.gateway.core.resetUser('b');
    expect(bodyOf(await stage.get(`/v1/keys?since=${changes.version}`)).keys).toEqual([
      { access_key: 'b', limit_bytes: 5, over_limit: false },
    ]);
  });

  it('with the version of another process, or with nonsense, gives everything', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const { version } = bodyOf(await stage.get('/v1/keys'));
    const ahead = `${version.split('-')[0]}-999`;
    for (const since of ['0123456789ab-0', 'x', ahead]) {
      expect(bodyOf(await stage.get(`/v1/keys?since=${since}`))).toMatchObject({
        complete: true,
        keys: [{ access_key: 'a' }],
      });
    }
  });

  it('answers 304 to the entity tag that is current, at once without wait and after it with', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const etag = (await stage.get('/v1/keys')).headers.get('etag') ?? '';
    expect((await stage.get('/v1/keys', { 'if-none-match': etag })).status).toBe(304);
    expect((await stage.get('/v1/keys?wait=1', { 'if-none-match': `W/${etag}, "x"` })).status).toBe(304);
    expect((await stage.get('/v1/keys', { 'if-none-match': '"x"' })).status).toBe(200);
  });

  it('with wait answers when something changes, and then with the change', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const { version } = bodyOf(await stage.get('/v1/keys'));
    const waits = [
      stage.get(`/v1/keys?since=${version}&wait=60`),
      stage.get('/v1/keys?wait=60', { 'if-none-match': `"${version}"` }),
    ];
    await until(() => stage.requests() === 3);
    await stage.post('/v1/usage', report(null, ['a', 1, 1]));
    await stage.gateway.core.setLimit('a', 7n);
    const [since, tagged] = await Promise.all(waits);
    expect(bodyOf(since ?? { text: '{}' })).toMatchObject({
      complete: false,
      keys: [{ access_key: 'a', limit_bytes: 7 }],
    });
    expect(bodyOf(tagged ?? { text: '{}' })).toMatchObject({
      complete: true,
      keys: [{ access_key: 'a', limit_bytes: 7 }],
    });
  });

  it('lets 256 wait, refuses a further one with the seconds until it may come again, and tells all of them at once', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const { version } = bodyOf(await stage.get('/v1/keys'));
    const ask = () => stage.get(`/v1/keys?since=${version}&wait=300`);
    const waiting = Array.from({ length: 256 }, ask);
    await until(() => stage.requests() === 257);
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    expect((await stage.get(`/v1/keys?since=${version}`)).status).toBe(200);
    await stage.gateway.core.setLimit('a', 7n);
    const texts = new Set((await Promise.all(waiting)).map(({ text }) => text));
    expect(texts.size).toBe(1);
    expect((await stage.get(`/v1/keys?since=${version}&wait=300`)).status).toBe(200);
  });

  it('answers who would wait for five minutes after 55 s, before a proxy gives up', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const { version } = bodyOf(await stage.get('/v1/keys'));
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const waiting = stage.get(`/v1/keys?since=${version}&wait=300`);
    const waits = () => timers.mock.calls.map(([, milliseconds]) => milliseconds);
    // It waits some turns after it has come.
    await until(() => waits().includes(55_000));
    const held = waits();
    timers.mockRestore();
    await stage.gateway.core.setLimit('a', 7n);
    await waiting;
    expect(held).not.toContain(300_000);
  });

  it('a stop lets those go who wait', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const { version } = bodyOf(await stage.get('/v1/keys'));
    const waiting = stage.get(`/v1/keys?since=${version}&wait=300`);
    await until(() => stage.requests() === 2);
    await stage.close();
    expect(bodyOf(await waiting)).toMatchObject({ version, keys: [] });
  });

  it('a follower that asks for changes has what the whole list has, after any changes', async () => {
    const stage = await feedStage({ keys: [] });
    const { keys } = localOf(stage.gateway);
    const followed = new Map<string, unknown>();
    let version = 'none';
    const follow = async () => {
      const body = bodyOf(await stage.get(`/v1/keys?since=${version}`));
      if (body.complete) followed.clear();
      for (const key of body.removed) followed.delete(key);
      for (const key of body.keys) followed.set(key.access_key, key);
      version = body.version;
    };
    const aStep = fc.tuple(
      fc.constantFrom('create', 'update', 'remove', 'reset', 'usage', 'follow'),
      fc.nat(4),
      fc.nat(6),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { maxLength: 30 }), async (steps) => {
        for (const [what, number, value] of steps) {
          const record = { accessKey: `k${number}`, name: null, limitBytes: value === 6 ? null : BigInt(value) };
          if (what === 'create') keys.create(record);
          if (what === 'update') keys.update(record);
          if (what === 'remove') removeFrom(keys, record.accessKey);
          if (what === 'reset') keys.reset(record.accessKey);
          if (what === 'usage')
            keys.addUsage([{ accessKey: record.accessKey, bytesUp: 1n, bytesDown: 1n, connections: null }]);
          if (what === 'follow') await follow();
        }
        await follow();
        const whole = bodyOf(await stage.get('/v1/keys')).keys;
        expect([...followed.values()].sort(byKey)).toEqual([...whole].sort(byKey));
      }),
      { numRuns: tries(15) },
    );
  });
});

function byKey(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

describe('the log of admissions', () => {
  it('knows the changes since a version until there were too many', () => {
    const log = createChangeLog();
    log.note('first', 'created');
    for (let i = 0; i < REMEMBERED_CHANGES; i += 1) log.note(`k${i % 3}`, 'changed');
    expect(log.since(0)).toBe(null);
    expect(log.since(1)).toEqual(['k0', 'k1', 'k2']);
    expect(log.since(log.version)).toEqual([]);
    expect(log.since(log.version + 1)).toBe(null);
  });
});

describe('POST /v1/admit', () => {
  it('allows a key below its limit, and says why it does not', async () => {
    const stage = await feedStage({ keys: ['a', { access_key: 'b', limit_bytes: 4 }] });
    const admit = async (access_key: unknown) => (await stage.post('/v1/admit', { access_key })).body;
    expect(await admit('b')).toEqual({ allowed: true });
    await stage.post('/v1/usage', report(null, ['b', 1, 2]));
    expect(await admit('b')).toEqual({ allowed: true });
    await stage.post('/v1/usage', report(null, ['b', 1, 0]));
    expect(await admit('b')).toEqual({ allowed: false, reason: 'over_limit' });
    expect(await admit('a')).toEqual({ allowed: true });
    expect(await admit('x')).toEqual({ allowed: false, reason: 'unknown_key' });
    for (const bad of [7, '', null])
      expect(await admit(bad)).toEqual({ error: 'access_key: expected a string that is not empty' });
    expect(await admit('\ud83d')).toEqual({ error: expect.stringContaining('lone surrogate \\ud83d') });
  });
});

describe('where the feed listens', () => {
  it('an address in use is one clear error', async () => {
    const stage = await feedStage({ keys: [] });
    const { host } = new URL(stage.url);
    await expect(
      startFeed(
        stage.gateway,
        { feedBind: host, feedToken: 't' },
        { clock: systemClock, random: systemRandom, log: logTo([]) },
      ),
    ).rejects.toThrow(`the feed cannot listen on ${host} (EADDRINUSE): give it another address with --feed-bind`);
  });

  it('a Unix socket needs no token; one that is in use is an error, one left behind is replaced', async () => {
    const path = join(await folderForTest(), 'feed.sock');
    const stage = await feedStage({ keys: ['a'] });
    const settings = { feedBind: `unix:${path}`, feedToken: null };
    const lines: string[] = [];
    await startFeed(stage.gateway, settings, { clock: systemClock, random: systemRandom, log: logTo(lines) });
    expect(lines.join()).toContain(`the feed listens on unix:${path}`);
    expect(await overSocket(path, '/v1/keys')).toContain('"access_key":"a"');
    await expect(
      startFeed(stage.gateway, settings, { clock: systemClock, random: systemRandom, log: logTo([]) }),
    ).rejects.toThrow('EADDRINUSE');
    await stage.close();
    await leaveSocket(path);
    const later = await feedStage(stage);
    await startFeed(later.gateway, settings, { clock: systemClock, random: systemRandom, log: logTo([]) });
    await until(async () => (await overSocket(path, '/v1/keys')).includes('"a"'));
  });
});

function overSocket(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}

/** A process that listens there and is killed leaves its socket. */
async function leaveSocket(path: string): Promise<void> {
  const { spawn } = await import('node:child_process');
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await new Promise((resolve) => spawn(process.execPath, ['-e', script]).once('close', resolve));
}
