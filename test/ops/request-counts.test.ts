import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BOUNDS, createRequestCounts } from '../../src/ops/request-counts.js';

const aLabel = fc.record({
  mount: fc.constantFrom('/api', '/old/api'),
  revision: fc.constantFrom('one', 'two'),
  operation: fc.constantFrom('getUser', 'other'),
});
const anAnswer = fc.record({
  labels: aLabel,
  status: fc.constantFrom(200, 400, 500),
  // Bounds themselves come up often enough to show on which side of them they count.
  milliseconds: fc.oneof(
    fc.constantFrom(...BOUNDS.map((bound) => bound * 1000)),
    fc.double({ min: 0, max: 10_000, noNaN: true }),
  ),
});

describe('counts of requests', () => {
  it('are, for any answers, what counting them one by one gives', () => {
    fc.assert(
      fc.property(fc.array(anAnswer, { maxLength: 50 }), (answers) => {
        const counts = createRequestCounts();
        for (const { labels, status, milliseconds } of answers) counts.counting(labels)(status, milliseconds);
        const series = counts.series();
        const keys = series.map(({ labels }) => JSON.stringify(labels));
        expect(new Set(keys).size).toBe(keys.length);
        for (const { labels, count, seconds, upTo } of series) {
          const { status, ...rest } = labels;
          const same = answers.filter(
            (answer) => String(answer.status) === status && JSON.stringify(answer.labels) === JSON.stringify(rest),
          );
          expect(count).toBe(same.length);
          expect(seconds).toBeCloseTo(same.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000);
          expect(upTo).toEqual(
            BOUNDS.map((bound) => same.filter(({ milliseconds }) => milliseconds <= bound * 1000).length),
          );
        }
        expect(series.reduce((sum, { count }) => sum + count, 0)).toBe(answers.length);
      }),
    );
  });
});
