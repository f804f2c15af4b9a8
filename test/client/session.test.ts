import { expect, it } from 'vitest';
import { createSessionKeeper, type LoginOutcome } from '../../src/client/session.js';
import { handClock } from './called-server.js';

const ROOT = '/panel/api';

/** A keeper whose logins are counted, and end as told. The server started before everything, until it is restarted. */
function stage(outcomes: readonly LoginOutcome[] = []) {
  const clock = handClock();
  const begun: string[] = [];
  const told = [...outcomes];
  const lost = { count: 0 };
  let startedAt: number | null = -1;
  const login = async (apiRoot: string): Promise<LoginOutcome> => {
    begun.push(`${clock.monotonic() / 1000} s ${apiRoot}`);
    await Promise.resolve();
    return told.shift() ?? { kind: 'begun', token: `token-${begun.length}` };
  };
  const keeper = createSessionKeeper({
    login,
    startedAt: async () => startedAt,
    clock,
    onLost: () => {
      lost.count += 1;
    },
  });
  /** Has the server started at this moment; null where it does not tell when. */
  const starts = (at: number | null = clock.monotonic()) => {
    startedAt = at;
  };
  return { clock, keeper, begun, lost, starts };
}

it('one login is made, whoever asks and how many at once', async () => {
  const { keeper, begun } = stage();
  const answers = await Promise.all([
    keeper.obtain(ROOT, 'poll'),
    keeper.obtain(ROOT, 'caller'),
    keeper.obtain(ROOT, 'caller'),
  ]);
  expect(answers).toEqual([{ token: 'token-1' }, { token: 'token-1' }, { token: 'token-1' }]);
  expect(await keeper.obtain(ROOT, 'poll')).toEqual({ token: 'token-1' });
  expect(begun).toEqual([`0 s ${ROOT}`]);
});

it('a session that ended is begun again at once, for a caller alone', async () => {
  const { clock, keeper, begun, lost } = stage();
  await keeper.obtain(ROOT, 'caller');
  clock.pass(5_000);
  keeper.lost('token-1');
  keeper.lost('token-1');
  expect(lost.count).toBe(1);
  expect(await keeper.obtain(ROOT, 'poll')).toEqual({ kind: 'ended' });
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ token: 'token-2' });
  expect(begun).toHaveLength(2);
});

it('restarts of the server cost no pause, however often it is restarted', async () => {
  const { clock, keeper, begun, starts } = stage();
  await keeper.obtain(ROOT, 'caller');
  for (let round = 1; round <= 5; round += 1) {
    clock.pass(2_000);
    starts();
    clock.pass(1_000);
    keeper.lost(`token-${round}`);
    expect(await keeper.obtain(ROOT, 'caller')).toEqual({ token: `token-${round + 1}` });
  }
  expect(begun).toHaveLength(6);
});

it.each([
  ['started before', -1],
  ['does not tell when it started', null],
])('a session of a server that %s was taken: the next one is begun half a minute later', async (_, startedAt) => {
  const { clock, keeper, begun, starts } = stage();
  starts(startedAt);
  await keeper.obtain(ROOT, 'caller');
  clock.pass(5_000);
  keeper.lost('token-1');
  await keeper.obtain(ROOT, 'caller');
  clock.pass(5_000);
  keeper.lost('token-2');
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'taken', seconds: 25 });
  clock.pass(24_999);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'taken', seconds: 1 });
  clock.pass(1);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ token: 'token-3' });
  expect(begun).toHaveLength(3);
});

it('what an earlier session is refused with takes nothing from the present one', async () => {
  const { clock, keeper, lost } = stage();
  await keeper.obtain(ROOT, 'caller');
  keeper.lost('token-1');
  clock.pass(30_000);
  await keeper.obtain(ROOT, 'caller');
  keeper.lost('token-1');
  expect([lost.count, await keeper.obtain(ROOT, 'poll')]).toEqual([1, { token: 'token-2' }]);
});

it('somebody who keeps taking it is left twice as long each time, up to ten minutes', async () => {
  const { clock, keeper, begun } = stage();
  await keeper.obtain(ROOT, 'caller');
  // A caller every second for two hours, and somebody else who signs in a second after each login.
  let token = 'token-1';
  for (let second = 0; second < 7_200; second += 1) {
    clock.pass(1_000);
    keeper.lost(token);
    const answer = await keeper.obtain(ROOT, 'caller');
    if ('token' in answer) token = answer.token;
  }
  const times = begun.map((each) => Number.parseInt(each, 10));
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(waits.slice(0, 8)).toEqual([1, 30, 60, 120, 240, 480, 600, 600]);
  // Left alone for long enough, it is half a minute again.
  clock.pass(600_000);
  await keeper.obtain(ROOT, 'caller');
  clock.pass(1_300_000);
  keeper.lost(`token-${begun.length}`);
  expect(await keeper.obtain(ROOT, 'caller')).toMatchObject({ token: expect.any(String) });
  keeper.lost(`token-${begun.length}`);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'taken', seconds: 30 });
});

it('a login that is refused is never made again', async () => {
  const { clock, keeper, begun } = stage([{ kind: 'refused' }]);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'refused' });
  clock.pass(86_400_000);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'refused' });
  expect(begun).toHaveLength(1);
});

it('a server that slows logins is waited for', async () => {
  const { clock, keeper, begun } = stage([{ kind: 'later', seconds: 90 }]);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'later', seconds: 90 });
  clock.pass(89_000);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'later', seconds: 1 });
  clock.pass(1_000);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ token: 'token-2' });
  expect(begun).toHaveLength(2);
});

it('a server without a login is asked again: it may become one that has it', async () => {
  const { keeper } = stage([{ kind: 'absent' }]);
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ kind: 'absent' });
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ token: 'token-2' });
});

it('a first login without an answer may be made again at once', async () => {
  let isGone = true;
  const login = async (): Promise<LoginOutcome> => {
    if (isGone) throw new Error('nobody listens there');
    return { kind: 'begun', token: 'a' };
  };
  const keeper = createSessionKeeper({ login, startedAt: async () => null, clock: handClock(), onLost() {} });
  await expect(keeper.obtain(ROOT, 'caller')).rejects.toThrow('nobody listens there');
  isGone = false;
  expect(await keeper.obtain(ROOT, 'caller')).toEqual({ token: 'a' });
});
