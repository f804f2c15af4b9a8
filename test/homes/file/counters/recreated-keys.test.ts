import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../../../src/core/keys/registry.js';
import type { KeptCounters } from '../../../../src/core/keys/types.js';
import { MAX_U64 } from '../../../../src/core/model.js';
import { PerKeyQueue } from '../../../../src/core/per-key-queue.js';
import { createRenewals, decideRenewals, recordText } from '../../../../src/homes/file/counters/recreated-keys.js';

const key = (name: string, limitBytes: bigint | null = null) => ({ accessKey: 'a', name, limitBytes });
const counters = (bytesUp: bigint, connections = 0n): KeptCounters => ({
  ...{ accessKey: 'a', bytesUp, bytesDown: 2n * bytesUp, connections },
  ...{ createdAt: 3, leftAt: null },
});
const OLD = recordText(key('old'));

/** The key's counters after a start that finds this in the file, where the store has these. */
function decided(present: KeptCounters, renewals = createRenewals(), file = [key('old')]) {
  const keys = new KeyRegistry(() => 9);
  keys.takeOver(present);
  const count = decideRenewals(renewals, keys, file, 9);
  expect(renewals.all()).toEqual([]);
  return { count, kept: keys.kept('a') };
}

describe('a renewal that a crash has left', () => {
  it('before it took effect leaves the counters as they are while the file has an old record', () => {
    const renewals = createRenewals();
    renewals.announce('a', [OLD]);
    expect(decided(counters(5n), renewals)).toEqual({ count: 1, kept: counters(5n) });
  });

  it('before it took effect drops the counters where the file has the new record all the same', () => {
    const renewals = createRenewals();
    renewals.announce('a', [OLD]);
    expect(decided(counters(5n), renewals, [key('new')]).kept).toEqual({ ...counters(0n), createdAt: 9 });
  });

  it('adds what was reported since to the old counters, no sum passing 2^64-1, while the file has an old record', () => {
    const renewals = createRenewals();
    renewals.announce('a', ['other', OLD]);
    renewals.apply('a', counters(MAX_U64 / 2n, 4n));
    const { kept } = decided({ ...counters(7n), createdAt: 8 }, renewals);
    const bytesUp = MAX_U64 / 2n + 7n;
    expect(kept).toEqual({ ...counters(0n), bytesUp, bytesDown: MAX_U64, connections: 4n });
  });

  it('keeps what was reported since where the file has anything else, or no such key', () => {
    for (const file of [[key('new')], [key('old', 1n)], []]) {
      const renewals = createRenewals();
      renewals.announce('a', [OLD]);
      renewals.apply('a', counters(5n));
      expect(decided(counters(7n), renewals, file).kept).toEqual(counters(7n));
    }
  });

  it('has nothing to bring back after a reset', () => {
    const renewals = createRenewals();
    renewals.announce('a', [OLD]);
    renewals.apply('a', counters(5n, 4n));
    renewals.reset('a');
    expect(decided(counters(7n), renewals).kept).toEqual(counters(7n));
  });

  it('of a key that is created a third time brings back what was before both', () => {
    const renewals = createRenewals();
    renewals.announce('a', [OLD]);
    renewals.apply('a', counters(5n));
    renewals.announce('a', [recordText(key('second'))]);
    renewals.apply('a', counters(7n));
    expect(decided(counters(1n), renewals).kept).toEqual(counters(13n));
  });

  it('is none once it is settled, and a store is told of each change once', () => {
    const renewals = createRenewals();
    renewals.announce('a', [OLD]);
    renewals.apply('a', counters(5n));
    expect(renewals.takeChanges()).toEqual(['a']);
    expect(renewals.takeChanges()).toEqual([]);
    renewals.settle('a');
    renewals.settle('unknown');
    expect([renewals.get('a'), renewals.takeChanges()]).toEqual([null, ['a']]);
    expect(decided(counters(7n), renewals)).toEqual({ count: 0, kept: counters(7n) });
  });

  it('tells records apart by name and limit, and a name from none', () => {
    const texts = [key('a'), key('a', 1n), key('null'), { ...key(''), name: null }, undefined].map(recordText);
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('turns', () => {
  it('of one name follow one another, also behind a failure; others go side by side, the first at once', async () => {
    const queue = new PerKeyQueue();
    const seen: string[] = [];
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const work =
      (name: string, wait: Promise<void> | null, fails = false) =>
      async () => {
        seen.push(`${name} begins`);
        await wait;
        seen.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      };
    const first = queue.run('x', work('first', gate, true));
    const second = queue.run('x', work('second', null));
    expect(seen).toEqual(['first begins']);
    expect(await queue.run('y', work('other', null))).toBe('other');
    open();
    await expect(first).rejects.toThrow('first');
    expect(await second).toBe('second');
    expect(seen).toEqual(['first begins', 'other begins', 'other ends', 'first ends', 'second begins', 'second ends']);
    expect(await queue.run('x', work('third', null))).toBe('third');
  });
});
