import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyFreshness, listMayChange } from '../../../src/homes/upstream/freshness.js';
import { nextRefreshAt, type TakenLists, withList } from '../../../src/homes/upstream/list-refresh.js';
import { isRestarted, startOf } from '../../../src/homes/upstream/live-status.js';
import { storingAt } from '../../../src/homes/upstream/persist-keys.js';
import { mergeWrites, writeOutcome } from '../../../src/homes/upstream/unconfirmed-writes.js';
import { key } from './staged.js';

describe('what a list may change', () => {
  it('is any key of which nothing is known', () => {
    expect(listMayChange(undefined, 5)).toBe(true);
  });

  it('is a key whose latest fact is older, and whose writes are over', () => {
    const fact = { latest: 5, open: 0, unansweredUntil: Number.NEGATIVE_INFINITY };
    expect([4, 5, 6].map((sentAt) => listMayChange(fact, sentAt))).toEqual([false, false, true]);
    expect(listMayChange({ ...fact, open: 1 }, 6)).toBe(false);
    expect([12, 13].map((sentAt) => listMayChange({ ...fact, unansweredUntil: 12 }, sentAt))).toEqual([false, true]);
  });

  it('is no key of a write that was never answered, for 7 s', () => {
    const facts = createKeyFreshness();
    facts.writeBegins('a');
    expect(facts.listMayChange('a', 1e9)).toBe(false);
    facts.writeEnds('a', 'lost', 100);
    expect([7_100, 7_101].map((sentAt) => facts.listMayChange('a', sentAt))).toEqual([false, true]);
  });

  it('is decided by the moment of a write’s answer, and not by that of its sending', () => {
    const facts = createKeyFreshness();
    facts.writeBegins('a');
    facts.writeEnds('a', 'answered', 100);
    expect([99, 100, 101].map((sentAt) => facts.listMayChange('a', sentAt))).toEqual([false, false, true]);
  });

  it('leaves single reads that were sent before the list out', () => {
    const facts = createKeyFreshness();
    facts.listBegins(50);
    expect([50, 51].map((sentAt) => facts.readMayChange('a', sentAt))).toEqual([false, true]);
    facts.listTaken(50);
    expect([50, 51].map((sentAt) => facts.readMayChange('a', sentAt))).toEqual([false, true]);
    facts.readTaken('a', 60);
    expect([60, 61].map((sentAt) => facts.readMayChange('a', sentAt))).toEqual([false, true]);
  });
});

const state = fc.constantFrom(null, key('a'), key('a', 1n), key('a', 2n), key('a', 1n, 'n'));

describe('what becomes of a write', () => {
  const write = { after: key('a', 2n), previousStates: [key('a', 1n), null], answeredAt: 100 };

  it('is not told by what was sent before it was answered', () => {
    fc.assert(fc.property(state, fc.integer({ max: 100 }), (seen, at) => writeOutcome(write, seen, at) === 'pending'));
  });

  it('is settled where a list sent 7 s later agrees, and waits until then', () => {
    expect(writeOutcome(write, key('a', 2n), 7_099)).toBe('pending');
    expect(writeOutcome(write, key('a', 2n), 7_100)).toBe('confirmed');
  });

  it('is undone where the key is exactly what it was, and overtaken where it is something else', () => {
    expect([null, key('a', 1n)].map((seen) => writeOutcome(write, seen, 101))).toEqual(['reverted', 'reverted']);
    expect(writeOutcome(write, key('a', 3n), 101)).toBe('superseded');
    expect(writeOutcome(write, key('a', 1n, 'n'), 101)).toBe('superseded');
    expect(writeOutcome(write, key('a', 1n, 'n'), 101, (name) => name !== 'name')).toBe('reverted');
  });

  it('goes for the last of several writes, which may all be undone to whatever was before', () => {
    fc.assert(
      fc.property(fc.array(state, { minLength: 2, maxLength: 6 }), (states) => {
        let waiting: ReturnType<typeof mergeWrites> | undefined;
        for (const [index, after] of states.slice(1).entries()) {
          const before = states[index] ?? null;
          waiting = mergeWrites(waiting ?? undefined, { befores: [before], after, answeredAt: index });
        }
        const last = states.at(-1) ?? null;
        for (const former of waiting?.previousStates ?? []) {
          expect(
            writeOutcome({ after: last, previousStates: waiting?.previousStates ?? [], answeredAt: 9 }, former, 10),
          ).toBe('reverted');
        }
        expect(waiting?.previousStates ?? []).not.toContainEqual(last);
      }),
    );
  });

  it('knows 32 states before it, the newest and the oldest, however often the key was changed', () => {
    let waiting: ReturnType<typeof mergeWrites> | undefined;
    for (let n = 1n; n <= 100n; n += 1n)
      waiting = mergeWrites(waiting ?? undefined, {
        ...{ befores: [key('a', n - 1n), null], after: key('a', n), answeredAt: Number(n) },
      });
    expect(waiting?.previousStates).toHaveLength(32);
    const known = [null, key('a', 99n), key('a', 70n), key('a', 0n)];
    expect(waiting?.previousStates).toEqual(expect.arrayContaining(known));
  });

  it('is nothing to wait for where the key is what it was', () => {
    expect(mergeWrites(undefined, { befores: [key('a', 1n)], after: key('a', 1n), answeredAt: 1 })).toBe(null);
  });
});

describe('when the next list may be asked for', () => {
  it.each([
    ['at once before the first', [], null, Number.NEGATIVE_INFINITY],
    ['every second of a quick server', [1, 1, 1], null, 1_000],
    ['so that it takes 2 % of its time', [130, 130, 130], null, 6_500],
    ['by what a list costs that nothing held up', [500, 130, 500], null, 6_500],
    ['by a quarter of what one costs that is far slower', [130, 130, 130, 1_000], null, 12_500],
    ['sooner after the first, which is slow', [500], null, 5_000],
    ['sooner after the second, too', [500, 130], null, 1_300],
    ['by the last five alone, for a server that has got more keys', [1, 130, 130, 140, 130, 130], null, 6_500],
    ['after 30 s at least', [9_000, 9_000, 9_000], null, 30_000],
    ['a second after a failure', [1, 1, 1], 5_000, 6_000],
  ] as const)('%s', (_what, costs, failedAt, expected) => {
    const last = costs.reduce<TakenLists | null>(
      (before, serverMilliseconds) => withList(before, { sentAt: 0, serverMilliseconds }),
      null,
    );
    expect(nextRefreshAt(last, failedAt)).toBe(expected);
  });
});

describe('a server', () => {
  const status = (sentAt: number, uptimeSeconds: bigint) => ({ sentAt, value: { uptimeSeconds } });

  it('was restarted where its start is later by more than 3 s', () => {
    const known = startOf(status(100_000, 60n));
    expect(known).toBe(40_000);
    expect(isRestarted(known, startOf(status(160_900, 118n)))).toBe(false);
    expect(isRestarted(known, startOf(status(160_900, 117n)))).toBe(true);
    expect(isRestarted(null, known)).toBe(false);
  });

  it('is given its keys after 2 s of quiet, and 30 s after the first write at most', () => {
    expect(storingAt(1_000, 5_000)).toBe(7_000);
    expect(storingAt(1_000, 30_000)).toBe(31_000);
  });
});
