import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerBounds, MOST_KEYS } from '../../src/client/answer-bounds.js';

describe('the most that is read of an answer', () => {
  it('is 64 KiB of a single one, and of a first list 250,000 keys or 64 MB', () => {
    const bounds = new AnswerBounds();
    expect(bounds.of('single').bytes).toBe(65_536);
    expect(bounds.of('list')).toEqual({ keys: 250_000, bytes: 64_000_000 });
    expect(bounds.of('configuration').bytes).toBe(64_000_000);
  });

  it('is of a later list twice the last and 10,000 keys, and of a configuration likewise', () => {
    const bounds = new AnswerBounds();
    bounds.taken('list', { keys: 300, bytes: 50_000 });
    expect(bounds.of('list')).toEqual({ keys: 10_600, bytes: 100_000 + 2_560_000 });
    expect(bounds.of('configuration').bytes).toBe(64_000_000);
    bounds.taken('configuration', { keys: 0, bytes: 1_000 });
    expect(bounds.of('configuration').bytes).toBe(2_000 + 2_560_000);
  });

  it('grows with each list that is longer, so that a server that has grown is read again, and never beyond that of the first', () => {
    const bounds = new AnswerBounds();
    bounds.taken('list', { keys: 20_000, bytes: 4_000_000 });
    const seen: [number, boolean][] = [];
    for (let i = 0; i < 4; i += 1) {
      const isMost = bounds.exceeded('list');
      seen.push([bounds.of('list').keys, isMost]);
    }
    expect(seen).toEqual([
      [110_000, false],
      [230_000, false],
      [250_000, false],
      [250_000, true],
    ]);
  });

  it('stays below twice what was read plus 10,000 keys, or at what the setting allows, whatever the server does', () => {
    const step = fc.oneof(fc.constant('exceeds' as const), fc.nat({ max: 1_000_000 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const bounds = new AnswerBounds();
        let last = 0;
        for (const each of steps) {
          const bound = bounds.of('list').keys;
          // What is longer than the bound is not read.
          if (each === 'exceeds' || each > bound) bounds.exceeded('list');
          else {
            last = each;
            bounds.taken('list', { keys: each, bytes: each * 200 });
          }
          expect(bounds.of('list').keys).toBeLessThanOrEqual(Math.max(MOST_KEYS, 2 * last + 10_000));
        }
      }),
      { seed: 25, numRuns: 200 },
    );
  });
});
