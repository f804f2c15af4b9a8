import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHistory, follows, seenIn } from '../../panel/state/history.js';

const START = 1_770_000_000_000;
const user = (bytes_down: number, access_key = 'k') => ({
  access_key,
  name: null,
  bytes_up: 0,
  bytes_down,
  connections: 0,
  limit_bytes: null,
  online: false,
});
type List = readonly ReturnType<typeof user>[];

/** A history that was shown these lists, each so many seconds after the start. */
function shown(lists: readonly (readonly [number, List])[], history = createHistory(null, START)) {
  let before: ReadonlyMap<string, ReturnType<typeof user>> | null = null;
  for (const [second, users] of lists) {
    history.record(users, before, START + second * 1000);
    before = new Map(users.map((one) => [one.access_key, one]));
  }
  return history;
}

describe('what the page saw moving', () => {
  it('has only intervals of 5 s or more, and none of the bytes is lost or counted twice', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 9_000 }), fc.nat(1_000_000)), { minLength: 2 }),
        (steps) => {
          let time = 0;
          let bytes = 0;
          const history = shown([
            [0, [user(0)]],
            ...steps.map(([milliseconds, more]): readonly [number, List] => {
              time += milliseconds / 1000;
              bytes += more;
              return [time, [user(bytes)]];
            }),
            [time + 5, [user(bytes)]],
          ]);
          expect(history.total().every(({ seconds }) => seconds >= 5)).toBe(true);
          expect(history.total().reduce((sum, { down }) => sum + down, 0)).toBe(bytes);
        },
      ),
    );
  });

  it('is kept over a reload for a day, with a gap for the time that nobody saw', () => {
    const before = shown([
      [0, [user(0)]],
      [5, [user(100)]],
      [10, [user(300)]],
    ]);
    const after = createHistory(before.kept(), START + 60_000);
    shown(
      [
        [60, [user(900)]],
        [65, [user(1_000)]],
      ],
      after,
    );
    expect(after.total().map(({ down }) => down)).toEqual([100, 200, 100]);
    const [, second, third] = after.total();
    expect(second !== undefined && third !== undefined && follows(second, third)).toBe(false);
    expect(after.of('k').map(({ down }) => down)).toEqual([100, 200, 100]);
    expect(after.since).toBe(START);
    expect(createHistory(before.kept(), START + 25 * 3_600_000).total()).toEqual([]);
  });

  it('is summed up with the time that it was recorded for, and the time in which that was', () => {
    const points = [
      { time: START + 5_000, seconds: 5, up: 1, down: 10 },
      { time: START + 65_000, seconds: 10, up: 2, down: 20 },
    ];
    expect(seenIn(points)).toEqual({ since: START, span: 65, seconds: 15, up: 3, down: 30 });
    expect(seenIn([])).toBeNull();
  });

  it('joins what is older than an hour, and keeps its sums', () => {
    const lists = Array.from({ length: 2_000 }, (_, index): readonly [number, List] => [index * 5, [user(index * 7)]]);
    const history = shown(lists);
    expect(history.total().length).toBeLessThan(900);
    expect(history.total().reduce((sum, { down }) => sum + down, 0)).toBe(1_999 * 7);
    expect(history.total()[0]?.seconds).toBe(60);
  });

  it('takes what a kept text says that is none for nothing', () => {
    for (const text of ['', '{', '{"total":1}', '[]', '{"total":[["x"]],"keys":[[1]]}']) {
      expect(createHistory(text, START).total()).toEqual([]);
    }
  });

  it('counts what a counter holds after it was reset', () => {
    const history = shown([
      [0, [user(1_000)]],
      [5, [user(30)]],
    ]);
    expect(history.total().map(({ down }) => down)).toEqual([30]);
  });
});
