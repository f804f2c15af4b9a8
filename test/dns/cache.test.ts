import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAnswerCache } from '../../src/dns/cache.js';
import { createRateLimit } from '../../src/dns/rate-limit.js';
import { emptyAnswer } from '../../src/dns/reply.js';

const ANSWER = emptyAnswer(0);

describe('the cache', () => {
  it('keeps an answer for its time, and tells its age', () => {
    let now = 0;
    const cache = createAnswerCache(() => now, { entries: 10, bytes: 1e6 });
    cache.put('a', ANSWER, 5);
    now = 4999;
    expect(cache.get('a')).toEqual({ answer: ANSWER, age: 4 });
    now = 5000;
    expect(cache.get('a')).toBeNull();
    expect([cache.size, cache.bytes]).toEqual([0, 0]);
  });

  it('keeps nothing for no time', () => {
    const cache = createAnswerCache(() => 0, { entries: 10, bytes: 1e6 });
    cache.put('a', ANSWER, 5);
    cache.put('a', ANSWER, 0);
    expect(cache.get('a')).toBeNull();
  });

  it('drops what was used least recently when it is full', () => {
    const cache = createAnswerCache(() => 0, { entries: 2, bytes: 1e6 });
    cache.put('a', ANSWER, 5);
    cache.put('b', ANSWER, 5);
    cache.get('a');
    cache.put('c', ANSWER, 5);
    expect(['a', 'b', 'c'].map((key) => cache.get(key) !== null)).toEqual([true, false, true]);
  });

  it('whatever happens stays within its limits and counts its bytes right', () => {
    const put = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(3000), fc.nat(3));
    fc.assert(
      fc.property(fc.array(put), (puts) => {
        let now = 0;
        const cache = createAnswerCache(() => now, { entries: 3, bytes: 5000 });
        for (const [key, size, seconds] of puts) {
          cache.put(key, { ...ANSWER, records: Buffer.alloc(size) }, seconds);
          now += 700;
          cache.get('a');
          expect(cache.size).toBeLessThanOrEqual(3);
          expect(cache.bytes).toBeLessThanOrEqual(5000);
        }
        now += 1e6;
        for (const key of 'abcde') cache.get(key);
        expect([cache.size, cache.bytes]).toEqual([0, 0]);
      }),
    );
  });
});

describe('the rate limit', () => {
  it('lets a burst pass, then truncates and drops in turn, and lets pass again with time', () => {
    let now = 0;
    const limit = createRateLimit({ perSecond: 2, burst: 3, now: () => now });
    const check = () => limit.check('192.0.2.1');
    expect([check(), check(), check(), check(), check(), check()]).toEqual([
      'answer',
      'answer',
      'answer',
      'drop',
      'truncate',
      'drop',
    ]);
    now = 500;
    expect([check(), check()]).toEqual(['answer', 'truncate']);
  });

  it.each([
    ['192.0.2.1', '192.0.2.200', true],
    ['192.0.2.1', '192.0.3.1', false],
    ['::ffff:192.0.2.1', '192.0.2.9', true],
    ['2001:db8:0:100::1', '2001:db8:0:1ff::2', true],
    ['2001:db8:0:100::1', '2001:db8:0:200::1', false],
    ['fe80::1%eth0', 'fe80::2%eth1', true],
  ])('takes %s and %s for one network: %s', (first, second, same) => {
    const limit = createRateLimit({ perSecond: 1, burst: 1, now: () => 0 });
    limit.check(first);
    expect(limit.check(second) !== 'answer').toBe(same);
  });
});
