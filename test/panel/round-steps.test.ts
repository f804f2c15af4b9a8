import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sizeMarks, timeMarks } from '../../panel/text/round-steps.js';
import { formatSizeLike } from '../../src/text/sizes.js';

const MiB = 1024 ** 2;

describe('the marks of a size axis', () => {
  it.each([
    [0, [0, 1, 2, 3, 4], 1],
    [3, [0, 1, 2, 3, 4], 1],
    [130 * MiB, [0, 50, 100, 150], MiB],
    [256 * MiB, [0, 100, 200, 300], MiB],
    [1.7 * 1024 * MiB, [0, 0.5, 1, 1.5, 2], 1024 * MiB],
    [1023 * MiB, [0, 500, 1000, 1500], MiB],
  ])('up to %d bytes are round in one unit', (largest, marks, unit) => {
    const { step, most } = sizeMarks(largest);
    const found = Array.from({ length: Math.round(most / step) + 1 }, (_, index) => (index * step) / unit);
    expect(found).toEqual(marks);
  });

  it('are 1, 2 or 5 · 10^n of the unit, three to six of them, and end at or above the largest value', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 2 ** 50, noNaN: true }), (largest) => {
        const { step, most } = sizeMarks(largest);
        let unit = 1;
        while (largest >= unit * 1024) unit *= 1024;
        const mantissa = Number((step / unit).toExponential(6).split('e')[0]);
        expect([1, 2, 5]).toContain(mantissa);
        expect(most).toBeGreaterThanOrEqual(largest);
        const count = Math.round(most / step) + 1;
        expect(count).toBeGreaterThanOrEqual(3);
        expect(count).toBeLessThanOrEqual(6);
      }),
    );
  });

  it('are written in the unit of the largest, so that half of a GiB is no 512 MiB', () => {
    expect(formatSizeLike(2 * 1024 * MiB, 512 * MiB, 'en')).toBe('0.5\u00a0GiB');
  });
});

describe('the marks of a time axis', () => {
  const NOON = new Date(2026, 4, 4, 12, 0, 0).getTime();
  const clock = (times: readonly number[]) => times.map((time) => new Date(time).toTimeString().slice(0, 8));

  it.each([
    [NOON + 7_000, 55_000, 6, ['12:00:10', '12:00:20', '12:00:30', '12:00:40', '12:00:50', '12:01:00']],
    [NOON - 61_000, 14 * 60_000, 4, ['12:00:00', '12:05:00', '12:10:00']],
    [NOON - 30 * 60_000, 5 * 3_600_000, 5, ['12:00:00', '13:00:00', '14:00:00', '15:00:00', '16:00:00']],
    [NOON - 3_600_000, 23 * 3_600_000, 2, ['12:00:00', '00:00:00']],
  ])('from %d for %d ms, at most %d of them, are whole hours, minutes or seconds of the reader', (from, span, most, marks) => {
    expect(clock(timeMarks(from, from + span, most))).toEqual(marks);
  });
});
