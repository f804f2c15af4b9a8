import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Principal, SESSION } from '../../src/core/principal.js';
import { createTokenGuard, type TokenVerdict } from '../../src/core/token-guard.js';
import { systemRandom } from '../../src/platform/system-ports.js';

const RIGHT = 'Bearer right';
const NAMED: Principal = { name: 'n', may: 'all', token: 'n' };

function guardAt(start: number) {
  const time = { now: start };
  const looked: string[] = [];
  const guard = createTokenGuard({ now: () => time.now, monotonic: () => time.now }, systemRandom);
  const check = async (network: string, authorization: string | undefined): Promise<TokenVerdict> => {
    const { verdict } = await guard.check(network, authorization, async (given) => {
      looked.push(given);
      return given.replace(/^Bearer /, '') === 'right' ? NAMED : null;
    });
    return verdict;
  };
  const guess = async (network: string, count: number, from = 0) => {
    const verdicts: TokenVerdict[] = [];
    for (let n = 0; n < count; n += 1) verdicts.push(await check(network, `Bearer wrong-${from + n}`));
    return verdicts;
  };
  return { time, guard, check, guess, looked };
}

it('after 20 different wrong tokens a network waits, its tokens unread, until the first of them is a minute old', async () => {
  const { time, guard, check, guess, looked } = guardAt(1_000);
  expect(await guess('a', 1)).toEqual(['wrong']);
  time.now += 20_000;
  expect(await guess('a', 19, 1)).toEqual(Array(19).fill('wrong'));
  looked.length = 0;
  expect(await check('a', 'Bearer another')).toBe(40);
  expect(await check('a', RIGHT)).toBe(40);
  expect(looked).toEqual([]);
  expect(guard.status()).toEqual({ unread: 2 });
  expect(await check('b', RIGHT)).toBe('right');
  time.now += 40_000;
  expect(await check('a', 'Bearer another')).toBe('wrong');
  // Of the 20 that count now the first came 40 seconds ago.
  expect(await check('a', RIGHT)).toBe(20);
  time.now += 20_000;
  expect(await check('a', RIGHT)).toBe('right');
});

it('one wrong token counts once however often it comes, and a request without any never', async () => {
  const { check, guess } = guardAt(0);
  for (let n = 0; n < 1_000; n += 1) {
    expect(await check('a', 'Bearer forgotten')).toBe('wrong');
    expect(await check('a', undefined)).toBe('wrong');
  }
  expect(await guess('a', 18)).toEqual(Array(18).fill('wrong'));
  expect(await check('a', RIGHT)).toBe('right');
});

it('a wrong token that comes again counts from then on', async () => {
  const { time, check, guess } = guardAt(0);
  await guess('a', 19);
  time.now += 59_000;
  await guess('a', 19);
  time.now += 2_000;
  expect(await check('a', 'Bearer new')).toBe('wrong');
  expect(await check('a', RIGHT)).toBe(58);
});

it('a token that a network was let in with is looked at even while that waits, with its scheme and without', async () => {
  const { check, guess } = guardAt(0);
  expect(await check('a', RIGHT)).toBe('right');
  await guess('a', 20);
  expect(await check('a', RIGHT)).toBe('right');
  expect(await check('a', 'right')).toBe('right');
  expect(await check('a', 'righter')).toBe(60);
  await guess('b', 20);
  expect(await check('b', RIGHT)).toBe(60);
});

it('a session token that ended never counts, and one that was just handed out is looked at while its network waits', async () => {
  const { guard, check, guess } = guardAt(0);
  for (let n = 0; n < 100; n += 1) guard.handedOut('a', `session-${n}`);
  for (let n = 0; n < 100; n += 1) expect(await check('b', `Bearer session-${n}`)).toBe('wrong');
  expect(await check('b', RIGHT)).toBe('right');
  await guess('c', 20);
  guard.handedOut('c', 'right');
  expect(await check('c', RIGHT)).toBe('right');
});

it('remembers 10,000 networks at most, and 16 tokens that each was let in with', async () => {
  const { check, guess } = guardAt(0);
  await guess('first', 20);
  for (let n = 0; n < 9_999; n += 1) await check(`n${n}`, 'Bearer wrong');
  expect(await check('first', RIGHT)).toBe(60);
  await check('one more', 'Bearer wrong');
  expect(await check('first', RIGHT)).toBe('right');
  const clock = { now: () => 0, monotonic: () => 0 };
  const any = createTokenGuard(clock, systemRandom);
  for (let n = 0; n <= 16; n += 1) await any.check('a', `t${n}`, async () => NAMED);
  for (let n = 0; n < 20; n += 1) await any.check('a', `w${n}`, async () => null);
  expect(await any.check('a', 't0', async () => NAMED)).toMatchObject({ verdict: 60 });
  expect(await any.check('a', 't1', async () => NAMED)).toMatchObject({ verdict: 'right' });
});

it('never looks at more than 20 different wrong tokens of a network in any minute, whatever comes when', async () => {
  const step = fc.record({ token: fc.integer({ min: 0, max: 60 }), wait: fc.integer({ min: 0, max: 10_000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const { time, check } = guardAt(0);
      const looks: { readonly at: number; readonly token: number }[] = [];
      for (const { token, wait } of steps) {
        time.now += wait;
        if ((await check('a', `Bearer w${token}`)) === 'wrong') looks.push({ at: time.now, token });
        const recent = looks.filter(({ at }) => at > time.now - 60_000);
        expect(new Set(recent.map((one) => one.token)).size).toBeLessThanOrEqual(20);
      }
    }),
  );
});

it('a token that must be asked for elsewhere counts once the answer is there, and not where none comes', async () => {
  const { guard, guess, check } = guardAt(0);
  await guess('a', 19);
  await expect(guard.check('a', 'Bearer x', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await guard.check('a', RIGHT, async () => NAMED)).toMatchObject({ verdict: 'right' });
  expect(await guard.check('a', 'Bearer y', async () => null)).toEqual({ verdict: 'wrong', principal: null });
  expect([await check('a', 'Bearer z'), await check('a', RIGHT)]).toEqual([60, 'right']);
});

it("the configuration's own token and a session are looked at in a network that waits, however many named ones it was let in with since", async () => {
  const { guard, guess } = guardAt(0);
  const show = async (network: string, authorization: string) => {
    const { verdict } = await guard.check(network, authorization, async (given) => (given === RIGHT ? SESSION : NAMED));
    return verdict;
  };
  expect(await show('a', RIGHT)).toBe('right');
  guard.handedOut('a', 'session');
  for (let n = 0; n < 40; n += 1) expect(await show('a', `Bearer kw_${n}`)).toBe('right');
  await guess('a', 20);
  expect(await show('a', RIGHT)).toBe('right');
  expect(await guard.check('a', 'Bearer session', async () => SESSION)).toEqual({
    verdict: 'right',
    principal: SESSION,
  });
  expect(await show('a', 'Bearer kw_39')).toBe('right');
  expect(await show('a', 'Bearer kw_0')).toBe(60);
  // A network that was never let in with it waits.
  await guess('b', 20);
  expect(await show('b', RIGHT)).toBe(60);
});

it('guesses that come at once learn no more than guesses one by one, a right one among them too', async () => {
  const { guard, check, guess } = guardAt(0);
  expect(await check('a', 'right')).toBe('right');
  await guess('a', 18);
  const known = check('a', RIGHT);
  const atOnce = ['x', 'y', 'z', 'z'].map((token) => check('a', `Bearer ${token}`));
  expect(await Promise.all(atOnce)).toEqual(['wrong', 'wrong', 60, 60]);
  expect(await known).toBe('right');
  await guess('b', 19);
  expect(await Promise.all([check('b', 'Bearer x'), check('b', RIGHT)])).toEqual(['wrong', 60]);
  expect(guard.status()).toEqual({ unread: 3 });
});
