import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeptVersion } from '../../src/core/backend.js';
import { retainedVersions } from '../../src/document/retention.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 5, 15, 13);

const versions = fc
  .uniqueArray(fc.record({ keptAt: fc.integer({ min: NOW - 60 * DAY, max: NOW }), forever: fc.boolean() }), {
    selector: ({ keptAt }) => keptAt,
    maxLength: 80,
  })
  .map((all) =>
    all.map(
      ({ keptAt, forever }): KeptVersion => ({ id: String(keptAt), keptAt, forever: forever && keptAt % 5 === 0 }),
    ),
  );

describe('retention', () => {
  it('keeps the first, those for ever, the last 10 and the last of each of 24 hours and of 30 days, and nothing else', () => {
    fc.assert(
      fc.property(versions, (all) => {
        const retained = retainedVersions(all, NOW);
        const times = all.map(({ keptAt }) => keptAt).sort((a, b) => a - b);
        for (const { id, keptAt, forever } of all) {
          const isLastOf = (period: number) =>
            !times.some((t) => t > keptAt && Math.floor(t / period) === Math.floor(keptAt / period));
          const expected =
            forever ||
            keptAt === times[0] ||
            times.indexOf(keptAt) >= times.length - 10 ||
            (isLastOf(HOUR) && NOW - keptAt < DAY) ||
            (isLastOf(DAY) && NOW - keptAt < 30 * DAY);
          expect(retained.has(id)).toBe(expected);
        }
      }),
    );
  });

  it('what stays does not depend on the order, and a second pass lets nothing more go', () => {
    fc.assert(
      fc.property(versions, (all) => {
        const retained = retainedVersions(all, NOW);
        expect(retainedVersions(all.toReversed(), NOW)).toEqual(retained);
        const left = all.filter(({ id }) => retained.has(id));
        expect(retainedVersions(left, NOW).size).toBe(left.length);
      }),
    );
  });
});
