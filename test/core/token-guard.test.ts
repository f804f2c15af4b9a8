import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MaybeAsync } from '../../src/core/maybe-async.js';
import { createTokenGuard, type TokenVerdict } from '../../src/core/token-guard.js';
import { systemRandom } from '../../src/platform/system-ports.js';

const RIGHT = 'Bearer right';

function guardAt(start: number) {
  const time = { now: start };
  const looked: string[] = [];
  const guard = createTokenGuard({ now: () => time.now, monotonic: () => time.now }, systemRandom);
  const check = (network: string, authorization: string | undefined): MaybeAsync<TokenVerdict> =>
    guard.check(network, authorization, (given) => {
      looked.push(given);
      return given.replace(/^Bearer /, '') === 'right';
    });
  const guess = (network: string, count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => check(network, `Bearer wrong-${from + n}`));
  return { time, guard, check, guess, looked };
}

it('after 20 different wrong tokens a network waits, its tokens unread, until the first of them is a minute old', () => {
  const { time, guard, check, guess, looked } = guardAt(1_000);
  expect(guess('a', 1)).toEqual(['wrong']);
  time.now += 20_000;
  expect(guess('a', 19, 1)).toEqual(Array(19).fill('wrong'));
  looked.length = 0;
  expect(check('a', 'Bearer another')).toBe(40);
  expect(check('a', RIGHT)).toBe(40);
  expect(looked).toEqual([]);
  expect(guard.status()).toEqual({ unread: 2 });
  expect(check('b', RIGHT)).toBe('right');
  time.now += 40_000;
  expect(check('a', 'Bearer another')).toBe('wrong');
  // Of the 20 that count now the first came 40 seconds ago.
  expect(check('a', RIGHT)).toBe(20);
  time.now += 20_000;
  expect(check('a', RIGHT)).toBe('right');
});

it('one wrong token counts once however often it comes, and a request without any never', () => {
  const { check, guess } = guardAt(0);
  for (let n = 0; n < 1_000; n += 1) {
    expect(check('a', 'Bearer forgotten')).toBe('wrong');
    expect(check('a', undefined)).toBe('wrong');
  }
  expect(guess('a', 18)).toEqual(Array(18).fill('wrong'));
  expect(check('a', RIGHT)).toBe('right');
});

it('a wrong token that comes again counts from then on', () => {
  const { time, check, guess } = guardAt(0);
  guess('a', 19);
  time.now += 59_000;
  guess('a', 19);
  time.now += 2_000;
  expect(check('a', 'Bearer new')).toBe('wrong');
  expect(check('a', RIGHT)).toBe(58);
});

it('a token that a network was let in with is looked at even while that waits, with its scheme and without', () => {
  const { check, guess } = guardAt(0);
  expect(check('a', RIGHT)).toBe('right');
  guess('a', 20);
  expect(check('a', RIGHT)).toBe('right');
  expect(check('a', 'right')).toBe('right');
  expect(check('a', 'righter')).toBe(60);
  guess('b', 20);
  expect(check('b', RIGHT)).toBe(60);
});

it('a session token that ended never counts, and one that was just handed out is looked at while its network waits', () => {
  const { guard, check, guess } = guardAt(0);
  for (let n = 0; n < 100; n += 1) guard.handedOut('a', `session-${n}`);
  for (let n = 0; n < 100; n += 1) expect(check('b', `Bearer session-${n}`)).toBe('wrong');
  expect(check('b', RIGHT)).toBe('right');
  guess('c', 20);
  guard.handedOut('c', 'right');
  expect(check('c', RIGHT)).toBe('right');
});

it('remembers 10,000 networks at most, and 16 tokens that each was let in with', () => {
  const { check, guess } = guardAt(0);
  guess('first', 20);
  for (let n = 0; n < 9_999; n += 1) check(`n${n}`, 'Bearer wrong');
  expect(check('first', RIGHT)).toBe(60);
  check('one more', 'Bearer wrong');
  expect(check('first', RIGHT)).toBe('right');
  const clock = { now: () => 0, monotonic: () => 0 };
  const any = createTokenGuard(clock, systemRandom);
  for (let n = 0; n <= 16; n += 1) any.check('a', `t${n}`, () => true);
  for (let n = 0; n < 20; n += 1) any.check('a', `w${n}`, () => false);
  expect(any.check('a', 't0', () => true)).toBe(60);
  expect(any.check('a', 't1', () => true)).toBe('right');
});

it('never looks at more than 20 different wrong tokens of a network in any minute, whatever comes when', () => {
  const step = fc.record({ token: fc.integer({ min: 0, max: 60 }), wait: fc.integer({ min: 0, max: 10_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { time, check } = guardAt(0);
      const looks: { readonly at: number; readonly token: number }[] = [];
      for (const { token, wait } of steps) {
        time.now += wait;
        if (check('a', `Bearer w${token}`) === 'wrong') looks.push({ at: time.now, token });
        const recent = looks.filter(({ at }) => at > time.now - 60_000);
        expect(new Set(recent.map((one) => one.token)).size).toBeLessThanOrEqual(20);
      }
    }),
  );
});

it('a token that must be asked for elsewhere counts once the answer is there, and not where none comes', async () => {
  const { guard, guess, check } = guardAt(0);
  guess('a', 19);
  await expect(guard.check('a', 'Bearer x', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await guard.check('a', RIGHT, async () => true)).toBe('right');
  expect(await guard.check('a', 'Bearer y', async () => false)).toBe('wrong');
  expect([check('a', 'Bearer z'), check('a', RIGHT)]).toEqual([60, 'right']);
});

it("the configuration's own token and a session are looked at in a network that waits, however many named ones it was let in with since", () => {
  const { guard, guess } = guardAt(0);
  const show = (network: string, authorization: string) =>
    guard.check(network, authorization, (given) => (given === RIGHT ? 'own' : given.startsWith('Bearer kw_')));
  expect(show('a', RIGHT)).toBe('right');
  guard.handedOut('a', 'session');
  for (let n = 0; n < 40; n += 1) expect(show('a', `Bearer kw_${n}`)).toBe('right');
  guess('a', 20);
  expect(show('a', RIGHT)).toBe('right');
  expect(guard.check('a', 'Bearer session', () => 'own')).toBe('right');
  expect(show('a', 'Bearer kw_39')).toBe('right');
  expect(show('a', 'Bearer kw_0')).toBe(60);
  // A network that was never let in with it waits.
  guess('b', 20);
  expect(show('b', RIGHT)).toBe(60);
});
