import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DomainError } from '../../src/core/errors.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { subscriptionToken } from '../../src/subscription/token.js';
import { describeDatabase } from '../homes/database/database.js';
import { databaseStage, fileStage, frontStage } from './homes.js';
import { type OwnReply, type OwnStage, ownStage } from './stage.js';

type Stage = OwnStage & { readonly behind?: OwnStage };

/** Milliseconds between two looks of a gateway at its rotations. */
const LOOK = 2_000;

/** This machine's time, and what a test has put it forward by. */
const ahead = { milliseconds: 0 };
const clock = { ...systemClock, now: () => systemClock.now() + ahead.milliseconds };

beforeEach(() => {
  ahead.milliseconds = 0;
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

const rotated = ({ body }: OwnReply) =>
  (body as unknown as { readonly data: { readonly access_key: string; readonly old_ends_at: string } }).data;

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
    expect(answer.status).toBe(200);
    const { access_key: successor } = rotated(answer);
    expect(await dataOf(stage, successor)).toMatchObject(
      counts ? { name: 'Anna', limit_bytes: 100n, bytes_up: 30n } : { name: 'Anna', limit_bytes: 70n, bytes_up: 0n },
    );
    expect((await stage.call('GET /keys/a')).status).toBe(404);
    expect(await stage.call('POST /keys/a/rotate', { body: {} })).toMatchObject({
      status: 404,
      body: { code: 'user_not_found' },
    });
  });

  it('in a grace the old key is listed as such, its bytes count onto the new one, and it ends at its time', async () => {
    const stage = await open();
    await stage.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna', limitBytes: 100n });
    await count(stage, 'a', 30n);
    const { access_key: successor, old_ends_at: end } = rotated(
      await stage.call('POST /keys/a/rotate', { body: { grace_seconds: 60 } }),
    );
    expect(Math.abs(Date.parse(end) - clock.now() - 60_000)).toBeLessThan(5000);
    expect(await dataOf(stage, 'a')).toMatchObject({ name: 'Anna (old)' });
    await count(stage, 'a', 20n);
    const counted = counts ? { limit_bytes: 100n, bytes_up: 50n } : { limit_bytes: 50n };
    await lookUntil(async () => expect(await dataOf(stage, successor)).toMatchObject(counted));
    expect((await stage.call('GET /keys/a')).status).toBe(200);
    passSeconds(60);
    await lookUntil(async () => expect((await stage.call('GET /keys/a')).status).toBe(404));
    expect(await dataOf(stage, successor)).toMatchObject({ name: 'Anna', ...counted });
  });

  it('the old key stays where it was in the list, and the new one stands at the end', async () => {
    const stage = await open();
    const { core } = stage.app.keyway;
    for (const name of ['a', 'b', 'c']) await core.createUser({ accessKey: name, name, limitBytes: null });
    await stage.call('POST /keys/b/rotate', { body: { grace_seconds: 60 } });
    const names = () => [...core.keys.entries()].map(({ name }) => name);
    await expect.poll(names).toEqual(['a', 'b (old)', 'c', 'b']);
    const { data = { access_keys: [...core.keys.entries()] } } = Object((await stage.call('GET /configuration')).body);
    expect(data.access_keys.map(({ name }: { readonly name: string }) => name)).toEqual(names());
  });

  it('the old key is let in no more once both have used the limit up', async () => {
    const stage = await open();
    await stage.app.keyway.core.createUser({ accessKey: 'a', name: null, limitBytes: 100n });
    await stage.call('POST /keys/a/rotate', { body: { grace_seconds: 600 } });
    await count(stage, 'a', 100n);
    await lookUntil(async () =>
      expect(await dataOf(stage, 'a')).toMatchObject({ status: 'over_limit', limit_bytes: 0n }),
    );
  });

  it('of a key that came out of a rotation, and of one that waits for its end, leaves no old key behind, nor one whose new key is removed', async () => {
    const stage = await open();
    const { core, home } = stage.app.keyway;
    for (const accessKey of ['a', 'b', 'c']) await core.createUser({ accessKey });
    const rotate = async (key: string, grace: number) =>
      rotated(await stage.call(`POST /keys/${key}/rotate`, { body: { grace_seconds: grace } })).access_key;
    const last = await rotate(await rotate('a', 30), 20);
    const successor = await rotate('b', 30);
    const anew = await rotate('b', 0);
    await core.deleteUser(await rotate('c', 30));
    const present = () => [...(stage.behind ?? stage).app.keyway.core.keys.entries()].map(({ accessKey }) => accessKey);
    expect(present()).toEqual(expect.arrayContaining(['a', anew, 'c']));
    passSeconds(30);
    await lookUntil(() => expect(present().sort()).toEqual([last, successor].sort()));
    const left = () => [...home.records.of('rotations').keys(), ...home.records.of('jobs').keys()];
    await lookUntil(() => expect(left().filter((id) => id !== 'lease')).toEqual([]));
  });
}

describe.each([
  ['memory', () => ownStage({ clock }), true],
  ['a configuration file', () => fileStage({ clock }), true],
  ['a running server', () => frontStage({ clock }), false],
] as const)('over %s', (_home, open, counts) => testsOver(open, counts));
describeDatabase('over a database', () => testsOver(() => databaseStage({ clock }), true));

describe('a rotation', () => {
  it('that takes its time is not forgotten meanwhile', async () => {
    const { app, call } = await ownStage({ clock });
    const { backend, core } = app.keyway;
    await core.createUser({ accessKey: 'a' });
    const batches = backend.batches ?? expect.fail('no batches');
    const { apply } = batches;
    vi.spyOn(batches, 'apply').mockImplementation(async (changes, note) => {
      const looked = vi.spyOn(core, 'key');
      const successor = changes.flatMap((each) => (each.op === 'rotate' ? [each.successor] : []));
      await lookUntil(() => expect(looked).toHaveBeenCalledWith(...successor));
      return apply(changes, note);
    });
    expect((await call('POST /keys/a/rotate', { body: { grace_seconds: 1 } })).status).toBe(200);
    passSeconds(1);
    await lookUntil(async () => expect((await call('GET /keys/a')).status).toBe(404));
  });

  it('in front of a server of which the second call fails tells the new key, and ends the old one later', async () => {
    const { app, call } = await frontStage();
    await app.keyway.core.createUser({ accessKey: 'a' });
    vi.spyOn(app.keyway.backend, 'deleteKey').mockRejectedValueOnce(new DomainError('backendAway'));
    const answer = await call('POST /keys/a/rotate', { body: {} });
    expect((await call(`GET /keys/${rotated(answer).access_key}`)).status).toBe(200);
    await lookUntil(async () => expect((await call('GET /keys/a')).status).toBe(404));
  });

  it('in front of a server leaves a limit that somebody has set meanwhile, less what the old key uses', async () => {
    const stage = await frontStage();
    await stage.app.keyway.core.createUser({ accessKey: 'a', limitBytes: 100n });
    const { access_key: key } = rotated(await stage.call('POST /keys/a/rotate', { body: { grace_seconds: 600 } }));
    await count(stage, 'a', 10n);
    await lookUntil(async () => expect(await dataOf(stage, key)).toMatchObject({ limit_bytes: 90n }));
    await stage.call(`PATCH /keys/${key}`, { body: { limit_bytes: 1000n } });
    await count(stage, 'a', 5n);
    await lookUntil(async () => expect(await dataOf(stage, key)).toMatchObject({ limit_bytes: 995n }));
  });

  it('of a key that somebody removes in the same moment does not bring it back', async () => {
    const { app, call } = await ownStage();
    await app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const { records } = app.keyway.home;
    const change = records.change.bind(records);
    vi.spyOn(records, 'change').mockImplementationOnce(async (changes) => {
      await app.keyway.core.deleteUser('a');
      return change(changes);
    });
    const answer = await call('POST /keys/a/rotate', { body: { grace_seconds: 600 } });
    expect(answer).toMatchObject({ status: 404, body: { code: 'user_not_found' } });
    expect(app.keyway.core.keys.size).toBe(0);
  });

  it('that cannot be looked after keeps no other from its end', async () => {
    const { app, call } = await ownStage({ clock });
    const { backend } = app.keyway;
    for (const accessKey of ['a', 'b']) await app.keyway.core.createUser({ accessKey });
    const { deleteKey } = backend;
    vi.spyOn(backend, 'deleteKey').mockImplementation(async (key) => {
      if (key === 'a') throw new DomainError('saveFailed');
      await deleteKey(key);
    });
    for (const key of ['a', 'b']) await call(`POST /keys/${key}/rotate`, { body: { grace_seconds: 1 } });
    passSeconds(1);
    await lookUntil(async () => expect((await call('GET /keys/b')).status).toBe(404));
    expect((await call('GET /keys/a')).status).toBe(200);
  });

  it('ends the subscription address with the old key, unless it is kept until a time', async () => {
    const stage = await ownStage({ subscriptionTokens: true });
    const { app, call } = stage;
    const status = async (accessKey: string) => (await app.inject(`/sub/${subscriptionToken(accessKey)}`)).statusCode;
    for (const accessKey of ['leaked', 'planned']) await app.keyway.core.createUser({ accessKey });
    expect([await status('leaked'), await status('planned')]).toEqual([200, 200]);
    await call('POST /keys/leaked/rotate', { body: {} });
    const until = new Date(Date.now() + 60_000).toISOString();
    const first = rotated(await call('POST /keys/planned/rotate', { body: { keep_address_until: until } }));
    expect([await status('leaked'), await status('planned')]).toEqual([404, 200]);
    // The next rotation of the same key ends its own address, and leaves the planned one.
    await call(`POST /keys/${first.access_key}/rotate`, { body: {} });
    expect([await status(first.access_key), await status('planned')]).toEqual([404, 200]);
  });

  it('refuses what is no time and no number of seconds', async () => {
    const { app, call } = await ownStage();
    await app.keyway.core.createUser({ accessKey: 'a' });
    for (const body of [
      { grace_seconds: -1 },
      { grace_seconds: 7_776_001 },
      { keep_address_until: 'tomorrow' },
      { more: 1 },
    ])
      expect((await call('POST /keys/a/rotate', { body })).body).toMatchObject({ code: 'invalid_body' });
    expect(app.keyway.core.keys.size).toBe(1);
  });

  it('whose grace goes on over a restart ends all the same', async () => {
    const one = await fileStage();
    await one.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    await one.call('POST /keys/a/rotate', { body: { grace_seconds: 1 } });
    await one.app.close();
    const other = await ownStage({ configPath: one.configPath, clock });
    expect(other.app.keyway.core.keys.get('a')).toMatchObject({ name: 'Anna (old)' });
    passSeconds(1);
    await lookUntil(() => expect(other.app.keyway.core.keys.get('a')).toBeUndefined());
    expect(other.app.keyway.core.keys.size).toBe(1);
  });
});
