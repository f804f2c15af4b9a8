import { readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KeyChange } from '../../src/core/backend.js';
import { DomainError } from '../../src/core/errors.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { subscriptionToken } from '../../src/subscription/token.js';
import { describeDatabase, freshDatabase, query, sharedPostgres } from '../homes/database/database.js';
import { proxyForTest } from '../homes/database/proxy.js';
import { someOf, WHOLE } from '../whole.js';
import { databaseStage, fileStage, frontStage } from './homes.js';
import { type OwnReply, type OwnStage, ownStage } from './stage.js';

type Stage = OwnStage & { readonly behind?: OwnStage };

/** Milliseconds between two looks of a gateway at its rotations. */
const LOOK = 2_000;

/** This machine's time, what a test has let pass and what it has set the time of day by. */
const ahead = { milliseconds: 0, set: 0 };
const clock = {
  now: () => systemClock.now() + ahead.milliseconds + ahead.set,
  monotonic: () => systemClock.monotonic() + ahead.milliseconds,
};

beforeEach(() => {
  Object.assign(ahead, { milliseconds: 0, set: 0 });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const passSeconds = (seconds: number): void => {
  ahead.milliseconds += seconds * 1000;
};

/** Has the gateways look after their rotations, again and again, until the check holds. */
async function lookUntil(check: () => unknown): Promise<void> {
  const looked = async () => {
    vi.advanceTimersByTime(LOOK);
    await check();
  };
  await vi.waitFor(looked, 20_000);
}

const rotated = ({ body }: OwnReply) => String(Object(body).data.access_key);

const REUSED = { status: 422, body: { code: 'idempotency_key_reused' } };

/** Asks for a new secret under an `Idempotency-Key`. */
const rotateOnce = ({ call }: OwnStage, accessKey: string, once: string) =>
  call(`POST /keys/${accessKey}/rotate`, { body: {}, headers: { 'idempotency-key': once } });

const presentIn = (stage: Stage) =>
  [...(stage.behind ?? stage).app.keyway.core.keys.entries()].map(({ accessKey }) => accessKey).sort();

/** Puts the record of a rotation that is not done: by default one that an older Keyway has left within its grace. */
async function leaveUndone({ app }: OwnStage, id: string, rotation: Readonly<Record<string, unknown>>): Promise<void> {
  const left = {
    ...{ old: 'a', successor: 'b', begunAt: clock.now(), endsAt: clock.now() + 60_000, isMade: true, left: null },
    ...{ carried: { up: '0', down: '0' }, carrying: null, isCut: false },
  };
  const body = JSON.stringify({ ...left, ...rotation });
  await app.keyway.home.backend.records.change([{ kind: 'rotations', id, body }]);
}

async function count(stage: Stage, accessKey: string, bytesUp: bigint): Promise<void> {
  const { backend } = (stage.behind ?? stage).app.keyway;
  const entries = [{ accessKey, bytesUp, bytesDown: 0n, connections: null }];
  await backend.count({ id: null, entries }, 'durable');
}

const dataOf = async ({ call }: OwnStage, accessKey: string): Promise<unknown> => {
  const { body } = await call(`GET /keys/${accessKey}`);
  return (body as unknown as { readonly data?: unknown }).data;
};

function testsOver(open: () => Promise<Stage>, counts: boolean): void {
  it('a new secret has name, limit and what was used, and the old one ends at once', async () => {
    const stage = await open();
    await stage.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna', limitBytes: 100n });
    await count(stage, 'a', 30n);
    const answer = await stage.call('POST /keys/a/rotate', { body: {} });
    const successor = rotated(answer);
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { access_key: expect.stringMatching(/^[\da-f]{32}$/) } },
    });
    expect(Object.keys(Object(answer.body).data)).toEqual(['access_key']);
    expect(await dataOf(stage, successor)).toMatchObject(
      counts ? { name: 'Anna', limit_bytes: 100n, bytes_up: 30n } : { name: 'Anna', limit_bytes: 70n, bytes_up: 0n },
    );
    expect((await stage.call('GET /keys/a')).status).toBe(404);
    expect(await stage.call('POST /keys/a/rotate', { body: {} })).toMatchObject({
      status: 404,
      body: { code: 'user_not_found' },
    });
  });

  it('is of nobody who is connected, and has counters where the old one had some', async () => {
    const stage = await open();
    const { core, backend } = (stage.behind ?? stage).app.keyway;
    await core.createUser({ accessKey: 'a' });
    const [bare = ''] = await core.bulkCreateUsers(1n, null);
    const entries = [{ accessKey: 'a', bytesUp: 3n, bytesDown: 4n, connections: 2n }];
    await backend.count({ id: null, entries }, 'durable');
    const countersOf = async (accessKey: string) => {
      const successor = rotated(await stage.call(`POST /keys/${accessKey}/rotate`, { body: {} }));
      return core.keys.get(successor)?.counters;
    };
    const used = counts ? { bytesUp: 3n, bytesDown: 4n } : { bytesUp: 0n, bytesDown: 0n };
    expect(await countersOf('a')).toMatchObject({ ...used, connections: 0n });
    // No API makes a key of this name without counters.
    const unused = await countersOf(bare);
    if (counts) expect(unused).toBeNull();
    else expect(unused).toMatchObject(used);
    expect(core.keys.counts).toMatchObject({ withCounters: counts ? 1 : 2, connected: 0 });
  });

  it('that is repeated under its Idempotency-Key has the same answer and is done once, whatever became of the key since', async () => {
    const stage = await open();
    const { core, home } = stage.app.keyway;
    for (const accessKey of ['a', 'b']) await core.createUser({ accessKey });
    const answers = await Promise.all([1, 2].map(() => rotateOnce(stage, 'a', 'one')));
    const [successor = ''] = answers.map(rotated);
    expect(answers.map(rotated)).toEqual([successor, successor]);
    expect(presentIn(stage)).toEqual([successor, 'b'].sort());
    expect(await rotateOnce(stage, 'b', 'one')).toMatchObject(REUSED);
    const items = [{ op: 'delete', access_key: 'b' }];
    expect(
      await stage.call('POST /keys/batch', { body: { items }, headers: { 'idempotency-key': 'one' } }),
    ).toMatchObject(REUSED);
    const next = rotated(await rotateOnce(stage, successor, 'another'));
    expect(rotated(await rotateOnce(stage, 'a', 'one'))).toBe(successor);
    expect(presentIn(stage)).toEqual([next, 'b'].sort());
    expect([...home.backend.records.of('rotations')]).toEqual([]);
  });

  if (WHOLE)
    it('that an older Keyway has left within a grace ends the old key at its time, also where either key is rotated or removed meanwhile', async () => {
      const stage = await open();
      const { core, home } = stage.app.keyway;
      for (const accessKey of ['a', 'b', 'c', 'd', 'e']) await core.createUser({ accessKey });
      await leaveUndone(stage, 'one', {});
      await leaveUndone(stage, 'two', { old: 'c', successor: 'd', isMade: false });
      await leaveUndone(stage, 'three', { old: 'e', successor: 'gone' });
      const last = rotated(await stage.call('POST /keys/b/rotate', { body: {} }));
      const anew = rotated(await stage.call('POST /keys/c/rotate', { body: {} }));
      passSeconds(59);
      vi.advanceTimersByTime(LOOK);
      expect(presentIn(stage)).toEqual(['a', last, anew, 'd', 'e'].sort());
      passSeconds(1);
      await lookUntil(() => expect(presentIn(stage)).toEqual([last, 'd'].sort()));
      await lookUntil(() => expect([...home.backend.records.of('rotations').keys()]).toEqual([]));
    });
}

const HOMES = [
  ['memory', () => ownStage({ clock }), true],
  ['a configuration file', () => fileStage({ clock }), true],
  ['a running server', () => frontStage({ clock }), false],
] as const;

describe.each(someOf(HOMES, 1))('over %s', (_home, open, counts) => testsOver(open, counts));
if (WHOLE) describeDatabase('over a database', () => testsOver(() => databaseStage({ clock }), true));

const successorIn = ([asked]: readonly KeyChange[] = []) => (asked?.op === 'rotate' ? asked.successor : '');

describe('a rotation in front of a server', () => {
  it('of which the second call fails tells the new key, and ends the old one later', async () => {
    const stage = await frontStage({ clock });
    await stage.app.keyway.core.createUser({ accessKey: 'a' });
    const { core } = stage.app.keyway;
    const { changes } = stage.behind.app.keyway.backend;
    const { apply } = changes;
    const failing = vi.spyOn(changes, 'apply').mockImplementation(async (asked, how) => {
      if (asked.some((each) => each.op === 'delete' && each.accessKey === 'a')) throw new DomainError('backendAway');
      return apply(asked, how);
    });
    const successor = rotated(await rotateOnce(stage, 'a', 'one'));
    expect(presentIn(stage)).toEqual(['a', successor].sort());
    expect(rotated(await rotateOnce(stage, 'a', 'one'))).toBe(successor);
    // Whatever becomes of the new key, the old one has ended for its user; whatever the clock, it ends at once.
    await core.deleteUser(successor);
    ahead.set = -3_600_000;
    failing.mockRestore();
    await lookUntil(() => expect(presentIn(stage)).toEqual([]));
  });

  it.each([
    ['between its two calls', true],
    ['before its first call', false],
  ])('that ended %s leaves one key, which its Idempotency-Key finds', async (_, isMade) => {
    const stage = await frontStage({ clock });
    await stage.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const change = vi
      .spyOn(stage.app.keyway.backend.changes, 'apply')
      .mockRejectedValueOnce(new DomainError('backendAway'));
    expect(await rotateOnce(stage, 'a', 'one')).toMatchObject({ status: 503 });
    const successor = successorIn(change.mock.calls[0]?.[0]);
    if (isMade) {
      await stage.behind.app.keyway.core.createUser({ accessKey: successor, name: 'Anna' });
      await lookUntil(() => expect(presentIn(stage)).toEqual([successor]));
    }
    expect(rotated(await rotateOnce(stage, 'a', 'one'))).toBe(successor);
    expect(presentIn(stage)).toEqual([successor]);
    expect([...stage.app.keyway.home.backend.records.of('rotations')]).toEqual([]);
  });

  it('that failed takes nothing from a later one of the same key, also where its own new key shows late', async () => {
    const stage = await frontStage({ clock });
    await stage.app.keyway.core.createUser({ accessKey: 'a' });
    const change = vi
      .spyOn(stage.app.keyway.backend.changes, 'apply')
      .mockRejectedValueOnce(new DomainError('backendAway'));
    expect((await stage.call('POST /keys/a/rotate', { body: {} })).status).toBe(503);
    const successor = rotated(await stage.call('POST /keys/a/rotate', { body: {} }));
    const late = successorIn(change.mock.calls[0]?.[0]);
    await stage.behind.app.keyway.core.createUser({ accessKey: late });
    await lookUntil(() => expect([...stage.app.keyway.home.backend.records.of('rotations')]).toEqual([]));
    expect(presentIn(stage)).toEqual([late, successor].sort());
  });

  it('whose new key never showed was not made, and leaves nothing', async () => {
    const stage = await frontStage({ clock });
    await stage.app.keyway.core.createUser({ accessKey: 'a' });
    vi.spyOn(stage.app.keyway.backend.changes, 'apply').mockRejectedValueOnce(new DomainError('backendAway'));
    expect((await rotateOnce(stage, 'a', 'one')).status).toBe(503);
    const looked = vi.spyOn(stage.app.keyway.core, 'key');
    for (const set of [-3_600_000, 3_600_000]) {
      ahead.set = set;
      looked.mockClear();
      await lookUntil(() => expect(looked.mock.calls.length).toBeGreaterThanOrEqual(4));
      expect([...stage.app.keyway.home.backend.records.of('rotations')]).toHaveLength(1);
    }
    passSeconds(600);
    await lookUntil(() => expect([...stage.app.keyway.home.backend.records.of('rotations')]).toEqual([]));
    expect(presentIn(stage)).toEqual(['a']);
  });
});

describe('a rotation', () => {
  it('is refused where a thousand are begun and not done', async () => {
    const stage = await ownStage({ clock });
    await stage.app.keyway.core.createUser({ accessKey: 'a' });
    for (let index = 0; index < 1_000; index += 1) await leaveUndone(stage, `${index}`, { old: `${index}` });
    expect(await stage.call('POST /keys/a/rotate', { body: {} })).toMatchObject({
      status: 429,
      body: { code: 'too_many_jobs', error: 'too many batches wait: try again: 1000 rotations are not done' },
    });
    expect(stage.app.keyway.core.keys.get('a')).toBeDefined();
  });

  it('of a key that somebody removes in the same moment does not bring it back', async () => {
    const stage = await ownStage();
    const { core, home } = stage.app.keyway;
    await core.createUser({ accessKey: 'a', name: 'Anna' });
    const change = home.backend.records.change.bind(home.backend.records);
    vi.spyOn(home.backend.records, 'change').mockImplementationOnce(async (changes) => {
      await core.deleteUser('a');
      return change(changes);
    });
    expect(await stage.call('POST /keys/a/rotate', { body: {} })).toMatchObject({
      status: 404,
      body: { code: 'user_not_found' },
    });
    expect(presentIn(stage)).toEqual([]);
    await lookUntil(() => expect([...home.backend.records.of('rotations')]).toEqual([]));
  });

  it('that cannot be looked after keeps no other from its end', async () => {
    const stage = await ownStage({ clock });
    const { backend, core } = stage.app.keyway;
    for (const accessKey of ['a', 'b', 'c']) await core.createUser({ accessKey });
    const { apply } = backend.changes;
    vi.spyOn(backend.changes, 'apply').mockImplementation(async (asked, how) => {
      if (asked.some((each) => each.op === 'delete' && each.accessKey === 'a')) throw new DomainError('saveFailed');
      return apply(asked, how);
    });
    for (const old of ['a', 'c']) await leaveUndone(stage, old, { old });
    passSeconds(60);
    await lookUntil(() => expect(presentIn(stage)).toEqual(['a', 'b']));
  });

  it('ends the subscription address of the old key; one that an older Keyway has kept goes on until its time', async () => {
    const { app, call } = await ownStage({ subscriptionTokens: true, clock });
    const status = async (accessKey: string) => (await app.inject(`/sub/${subscriptionToken(accessKey)}`)).statusCode;
    await app.keyway.core.createUser({ accessKey: 'a' });
    const body = JSON.stringify({ accessKey: 'a', until: clock.now() + 60_000 });
    await app.keyway.home.backend.records.change([{ kind: 'addresses', id: subscriptionToken('before'), body }]);
    expect([await status('a'), await status('before')]).toEqual([200, 200]);
    await call('POST /keys/a/rotate', { body: {} });
    expect([await status('a'), await status('before')]).toEqual([404, 200]);
    passSeconds(60);
    expect(await status('before')).toBe(404);
  });

  it('is done in a file that could not be written at first once it is repeated under its Idempotency-Key', async () => {
    const stage = await fileStage({ clock });
    await stage.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const folder = dirname(stage.configPath);
    await rename(folder, `${folder}-away`);
    const failed = await rotateOnce(stage, 'a', 'one');
    vi.advanceTimersByTime(LOOK);
    const again = await rotateOnce(stage, 'a', 'one');
    await rename(`${folder}-away`, folder);
    expect([failed, again]).toMatchObject([{ status: 500 }, { status: 500 }]);
    const successor = rotated(await rotateOnce(stage, 'a', 'one'));
    expect(await readFile(stage.configPath, 'utf8')).toContain(successor);
    expect(presentIn(stage)).toEqual([successor]);
  });

  it('that comes while its gateway closes is in the file if it is called done, and ends no key later if not', async () => {
    const { app, call, configPath } = await fileStage({ clock });
    const { core, home } = app.keyway;
    await core.createUser({ accessKey: 'a' });
    const closing = home.backend.close();
    const { status, body } = await call('POST /keys/a/rotate', { body: {} });
    await closing;
    const left = [...home.backend.records.of('rotations').values()].map((record) => JSON.parse(record));
    // Whether the write is still in time is the file's to say.
    const isDone = status === 200;
    expect(isDone ? [] : [{ old: 'a', isMade: false }]).toEqual(left.map(({ old, isMade }) => ({ old, isMade })));
    const present = isDone ? Object(body).data.access_key : 'a';
    expect(await readFile(configPath, 'utf8')).toContain(`["${present}"]`);
  });

  it('whose process ended behind the write of the file is finished by the next, and its Idempotency-Key finds the new key', async () => {
    const one = await fileStage({ clock, subscriptionTokens: true });
    const { core, home } = one.app.keyway;
    await core.createUser({ accessKey: 'a', name: 'Anna' });
    const token = String(Object((await one.call('POST /keys/a/address')).body).data.token);
    const change = home.backend.records.change.bind(home.backend.records);
    const changing = vi.spyOn(home.backend.records, 'change');
    changing.mockImplementationOnce(change).mockRejectedValue(new DomainError('saveFailed'));
    const successor = rotated(await rotateOnce(one, 'a', 'one'));
    changing.mockRestore();
    await one.app.close();
    const other = await ownStage({ configPath: one.configPath, clock, subscriptionTokens: true });
    expect(rotated(await rotateOnce(other, 'a', 'one'))).toBe(successor);
    expect((await other.app.inject(`/sub/${token}`)).body).toContain(`//${successor}@`);
    expect(presentIn(other)).toEqual([successor]);
  });

  it('is remembered under its Idempotency-Key for a day from its answer', async () => {
    const stage = await ownStage({ clock });
    for (const accessKey of ['a', 'b']) await stage.app.keyway.core.createUser({ accessKey });
    await rotateOnce(stage, 'a', 'one');
    const pass = (hours: number) => {
      passSeconds(hours * 3600);
      vi.advanceTimersByTime(3_600_000);
    };
    pass(23);
    await new Promise(setImmediate);
    expect(await rotateOnce(stage, 'b', 'one')).toMatchObject(REUSED);
    pass(2);
    await expect.poll(async () => (await rotateOnce(stage, 'b', 'one')).status).toBe(200);
  });
});

describeDatabase('a rotation over a database', () => {
  /** Two gateways, of which the first reaches the database by way of a proxy; one key, with an address of its own. */
  async function twoGateways() {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const first = await ownStage({ database: { url: proxy.url }, clock });
    const second = await ownStage({ database: { url }, clock });
    await first.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const token = String(Object((await first.call('POST /keys/a/address')).body).data.token);
    const kept = async () =>
      Object(JSON.parse(String(second.app.keyway.home.backend.records.of('addresses').get(token))));
    return { url, proxy, first, second, kept };
  }

  it('is one transaction with what is kept of the key and its answer', async () => {
    const { url, first, second, kept } = await twoGateways();
    await query(url, 'drop function keyway.change_records');
    const successor = rotated(await rotateOnce(first, 'a', 'one'));
    expect(rotated(await rotateOnce(second, 'a', 'one'))).toBe(successor);
    expect(await kept()).toEqual({ accessKey: successor, until: null });
    await query(url, 'drop function keyway.rotate_key');
    expect(await rotateOnce(first, successor, 'two')).toMatchObject({ status: 500, body: { code: 'save_failed' } });
    expect(await kept()).toEqual({ accessKey: successor, until: null });
    expect(presentIn(second)).toEqual([successor]);
  });

  it('carries a note along that another gateway writes at the same moment', async () => {
    const { first, second } = await twoGateways();
    const { changes } = first.app.keyway.home.backend;
    const { rotate } = changes;
    if (rotate === null) throw new Error('a database rotates keys itself');
    const late: typeof rotate = async (...asked) => {
      Object.assign(changes, { rotate });
      expect((await second.call('PATCH /keys/a', { body: { note: 'late' } })).status).toBe(200);
      return rotate(...asked);
    };
    Object.assign(changes, { rotate: late });
    const successor = rotated(await rotateOnce(first, 'a', 'one'));
    for (const { call } of [first, second])
      await expect
        .poll(async () => Object((await call('GET /keys')).body).data.keys)
        .toMatchObject([{ access_key: successor, note: 'late' }]);
    expect([...first.app.keyway.home.backend.records.of('notes').keys()]).toEqual([successor]);
  });

  it.each([
    'before',
    'after',
    'for good',
  ] as const)('whose connection is cut %s its commit is done once, and found by its Idempotency-Key at another gateway', async (when) => {
    const { proxy, first, second } = await twoGateways();
    proxy.cutAround('keyway.rotate_key(', when);
    const asked = rotateOnce(first, 'a', 'one');
    // Whoever loses his answer asks elsewhere.
    if (when !== 'before') await expect.poll(() => presentIn(second)).not.toContain('a');
    const successor = rotated(await rotateOnce(second, 'a', 'one'));
    proxy.refuse(false);
    expect(rotated(await asked)).toBe(successor);
    expect(presentIn(second)).toEqual([successor]);
  });

  it('that is answered by a failure is not done or found by its Idempotency-Key, while the database is read-only and ends connections now and then', async () => {
    const { url, first, second } = await twoGateways();
    const { url: server } = await sharedPostgres();
    const name = new URL(url).pathname.slice(1);
    const become = async (isReadOnly: boolean) => {
      await query(server, `alter database ${name} set default_transaction_read_only = ${isReadOnly}`);
      await query(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    };
    const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    for (const accessKey of keys) await first.app.keyway.core.createUser({ accessKey });
    await first.app.keyway.core.deleteUser('a');
    let isOver = false;
    const faults = (async () => {
      for (let isReadOnly = true; !isOver; isReadOnly = !isReadOnly) {
        await become(isReadOnly);
        await pause(50);
      }
      await become(false);
    })();
    const answers: OwnReply[] = [];
    for (const key of keys) answers.push(await rotateOnce(first, encodeURIComponent(key), key));
    isOver = true;
    await faults;
    const found: string[] = [];
    for (const [index, key] of keys.entries()) {
      const answer = () => rotateOnce(second, encodeURIComponent(key), key);
      await expect.poll(async () => (await answer()).status).toBe(200);
      found.push(rotated(await answer()));
      if (answers[index]?.status === 200) expect(found.at(-1)).toBe(rotated(answers[index]));
    }
    expect(presentIn(second)).toEqual(found.sort());
  });
});
