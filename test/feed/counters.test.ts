import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/system-ports.js';
import { CREDENTIALS, ROOT_LIST_FILE } from '../stand-in/files.js';
import { standInOf } from '../stand-in/test-stand-in.js';
import { feedStage, until } from './stage.js';

const entry = (access_key: string, bytes_up: number, connections?: number) => ({
  access_key,
  bytes_up,
  bytes_down: 0,
  ...(connections === undefined ? {} : { connections }),
});

const bytesUp = ({ gateway }: Awaited<ReturnType<typeof feedStage>>, key: string) =>
  gateway.core.keys.get(key)?.counters?.bytesUp;

describe('POST /v1/counters', () => {
  it('counts what has been added since the post before, once, also after a restart', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const post = (number: number, ...counters: readonly object[]) => ({ source: 's', epoch: 1, number, counters });
    const first = await stage.post('/v1/counters', post(1, entry('a', 100), entry('x', 1)));
    expect([first.status, first.body]).toEqual([
      200,
      { durable: true, repeated: false, baseline: true, unknown_keys: ['x'] },
    ]);
    const second = await stage.post('/v1/counters', post(2, entry('a', 130)));
    expect(second.body).toEqual({ durable: true, repeated: false, baseline: false, unknown_keys: [] });
    expect(bytesUp(stage, 'a')).toBe(30n);
    await stage.close();
    const later = await feedStage(stage);
    expect((await later.post('/v1/counters', post(2, entry('a', 130)))).body).toMatchObject({ repeated: true });
    await later.post('/v1/counters', post(3, entry('a', 131)));
    expect(bytesUp(later, 'a')).toBe(31n);
  });

  it("takes a server's own answer to GET /users as it came, with 64-bit integers exact", async () => {
    const server = await feedStage({ keys: ['a', 'b', { access_key: 'c', name: 'Ü', limit_bytes: 5 }] });
    // Each post is of the same run, however long this takes.
    const clock = { now: () => 0, monotonic: () => 0 };
    const here = await feedStage({ keys: ['a', 'b', 'c'] }, { clock });
    const list = async () => {
      const { body } = await server.gateway.app.inject({
        url: '/panel/api/users',
        headers: { authorization: 'Bearer api-token' },
      });
      return body;
    };
    const path = (number: number) => `/v1/counters?source=node-1&uptime_seconds=60&number=${number}&connections=total`;
    const huge = '18446744073709551615';
    await here.post(path(1), await list());
    await server.post(
      '/v1/usage',
      `{"entries":[{"access_key":"b","bytes_up":${huge},"bytes_down":7,"connections":4}]}`,
    );
    let told = await list();
    // Lists follow reports of usage a moment later.
    await until(async () => {
      told = await list();
      return told.includes(huge);
    });
    expect((await here.post(path(2), told)).body).toMatchObject({ durable: true, baseline: false });
    expect(here.gateway.core.keys.get('b')?.counters).toMatchObject({
      bytesUp: 18446744073709551615n,
      bytesDown: 7n,
      connections: 1n,
    });
    expect(here.gateway.core.keys.get('a')?.counters?.connections).toBe(0n);
  });

  it.each([
    ['0.4.6', '', {}],
    ['0.3.6', '', {}],
    ['0.4.6', '', { serverVersion: '0.4.6' }],
    ['0.3.6', '&restart=zero', { serverVersion: '0.4.6' }],
  ])('counts each byte of a server of %s once over its restart, told "%s" and %j', async (line, said, options) => {
    const standIn = await standInOf(line, { reloadFactor: 0, pauseMilliseconds: 0 }, ROOT_LIST_FILE);
    const stage = await feedStage({ keys: ['alpha', 'beta'] }, options);
    const tell = async (epoch: number, number: number) => {
      const list = await fetch(`${standIn.origin}/panel/api/users`, {
        headers: { authorization: `Bearer ${CREDENTIALS.token}` },
      });
      const path = `/v1/counters?source=node-1&epoch=${epoch}&number=${number}&from=zero${said}`;
      return stage.post(path, await list.text());
    };
    standIn.count('alpha', { up: 1_000n });
    standIn.count('beta', { up: 10n });
    expect((await tell(1, 1)).status).toBe(200);
    await standIn.restart();
    standIn.count('beta', { up: 5n });
    expect((await tell(2, 2)).status).toBe(200);
    standIn.count('alpha', { up: 1n });
    await tell(2, 3);
    expect([bytesUp(stage, 'alpha'), bytesUp(stage, 'beta')]).toEqual([1_001n, 15n]);
    const isGuessed = stage.lines.some((text) => text.includes('nobody said whether it keeps its counters'));
    expect(isGuessed).toBe(said === '' && !('serverVersion' in options));
  });

  it('answers 409 to a run that has ended, and counts nothing', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const post = (epoch: number, up: number) => ({
      source: 's',
      epoch,
      number: up,
      from: 'zero',
      counters: [entry('a', up)],
    });
    await stage.post('/v1/counters', post(2, 5));
    const ended = await stage.post('/v1/counters', post(1, 50));
    expect([ended.status, ended.body]).toEqual([
      409,
      {
        error:
          'epoch: expected the present run of this source: a later one has posted already, and nothing was counted',
      },
    ]);
    expect(bytesUp(stage, 'a')).toBe(5n);
  });

  it('a key of a source that never lowers its connections is online while it moves', async () => {
    let ahead = 0;
    const clock = { now: () => systemClock.now() + ahead, monotonic: () => systemClock.monotonic() + ahead };
    const stage = await feedStage({ keys: ['a'] }, { clock });
    const post = (number: number, up: number) =>
      stage.post('/v1/counters?connections=total', { source: 's', epoch: 1, number, counters: [entry('a', up, 9)] });
    const isOnline = () => stage.gateway.core.keys.get('a')?.counters?.connections;
    await post(1, 5);
    expect(isOnline()).toBe(0n);
    await post(2, 6);
    expect(isOnline()).toBe(1n);
    ahead = 60_000;
    await stage.gateway.local?.counters.sources.lower();
    expect(isOnline()).toBe(0n);
  });

  it.each([
    ['no source', { epoch: 1, number: 1, counters: [] }, 'source: expected a string of 1 to 200 characters'],
    [
      'no run',
      { source: 's', number: 1, counters: [] },
      'epoch: expected an unsigned 64-bit integer (or uptime_seconds)',
    ],
    [
      'two runs',
      { source: 's', epoch: 1, uptime_seconds: 1, number: 1, counters: [] },
      'epoch: expected either epoch or uptime_seconds',
    ],
    [
      'another restart',
      { source: 's', epoch: 1, number: 1, restart: 'perhaps', counters: [] },
      'restart: expected "kept" or "zero"',
    ],
    [
      'null in place of a word',
      { source: 's', epoch: 1, number: 1, restart: null, counters: [] },
      'restart: expected "kept" or "zero"',
    ],
    ['no number', { source: 's', epoch: 1, counters: [] }, 'number: expected an unsigned 64-bit integer'],
    [
      'no counters',
      { source: 's', epoch: 1, number: 1 },
      'counters: expected an array of entries, or "data" as a server answers GET /users',
    ],
    [
      'a key twice',
      { source: 's', epoch: 1, number: 1, counters: [entry('a', 1), entry('a', 2)] },
      'counters[1].access_key: expected each key once',
    ],
    [
      'an entry without bytes',
      { source: 's', epoch: 1, number: 1, counters: [{ access_key: 'a' }] },
      'counters[0].bytes_up: expected an unsigned 64-bit integer',
    ],
    ['a refusal', { ok: false, error: 'unauthorized' }, 'ok: expected true: the answer of a server that gave its keys'],
    [
      'another word for zero',
      { source: 's', epoch: 1, number: 1, from: 0, counters: [] },
      'from: expected "zero", or "now" as where it is left out',
    ],
  ])('a body with %s is refused with its place, and nothing is counted', async (_what, body, error) => {
    const stage = await feedStage({ keys: ['a'] });
    const answer = await stage.post('/v1/counters', body);
    expect([answer.status, answer.body]).toEqual([400, { error }]);
    expect(stage.gateway.local?.counters.sources.all()).toEqual([]);
  });

  it('a member that is said in the query and in the body is refused', async () => {
    const stage = await feedStage({ keys: [] });
    const answer = await stage.post('/v1/counters?source=s', { source: 's', epoch: 1, number: 1, counters: [] });
    expect([answer.status, answer.body]).toEqual([400, { error: 'source: expected one member of this name' }]);
  });
});
