import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLimit, formatSize, lacksUnit, readLimit, splitLimit, UNITS } from '../../src/text/sizes.js';

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

describe('limits', () => {
  it('shows every limit so that reading it again gives the same bytes', () => {
    fc.assert(
      fc.property(u64, (bytes) => {
        const { amount, unit } = splitLimit(bytes);
        const reading = readLimit(amount, unit);
        expect(reading.ok && reading.bytes !== null && BigInt(reading.bytes)).toBe(bytes);
      }),
    );
  });

  it('are shown in every list with exactly the bytes that were typed, where they were typed with up to four digits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9999 }),
        fc.constantFrom(...UNITS),
        fc.constantFrom('en', 'ru'),
        (n, unit, language) => {
          const typed = readLimit(`${n} ${unit}`, 'B');
          fc.pre(typed.ok);
          const shown = formatLimit(typed.bytes ?? 0, language);
          expect(readLimit(shown, 'B')).toMatchObject({ ok: true, bytes: typed.bytes, rounded: typed.rounded });
          expect(shown.split('\u00a0')[0]?.length).toBeLessThanOrEqual(String(n).length);
        },
      ),
    );
  });

  it.each([
    ['10 GB', '10\u00a0GB', '10\u00a0ГБ'],
    ['1.5 GiB', '1.5\u00a0GiB', '1,5\u00a0ГиБ'],
    ['1.25 TB', '1.25\u00a0TB', '1,25\u00a0ТБ'],
    ['1234567891', '1.15\u00a0GiB', '1,15\u00a0ГиБ'],
  ])('shows %s as %s, and in Russian as %s', (typed, english, russian) => {
    const reading = readLimit(typed, 'B');
    const shown = (language: string) => (reading.ok ? formatLimit(reading.bytes ?? 0, language) : null);
    expect([shown('en'), shown('ru')]).toEqual([english, russian]);
  });

  it('stay in the unit in which they are wanted while three digits behind the point say them there', () => {
    expect(splitLimit(1_500_000_000_000, 'GB')).toEqual({ amount: '1500', unit: 'GB' });
    expect(splitLimit(1024 ** 3 + 1, 'GiB')).toEqual({ amount: '1073741825', unit: 'B' });
    expect(readLimit('10 gb', 'GiB')).toMatchObject({ unit: 'GB' });
    expect(readLimit('10', 'GiB')).toMatchObject({ unit: 'GiB' });
  });

  it.each([
    ['1.5', 'GiB'],
    ['5', 'GB'],
    ['50', 'GiB'],
    ['0.25', 'TiB', '256', 'GiB'],
    ['1536', 'MiB', '1.5', 'GiB'],
    ['750', 'MB'],
    ['18446744073709551615', 'B'],
  ] as const)('shows %s %s as it is typed', (amount, unit, shownAmount: string = amount, shownUnit: string = unit) => {
    const reading = readLimit(amount, unit);
    expect(reading.ok && reading.bytes !== null && splitLimit(reading.bytes)).toEqual({
      amount: shownAmount,
      unit: shownUnit,
    });
  });

  it.each([
    ['1.5', 'GiB', 1610612736],
    ['1,5 ГиБ', 'B', 1610612736],
    ['10 GiB', 'B', 10737418240],
    ['18446744073709551615', 'B', 18446744073709551615n],
    ['1 024', 'B', 1024],
    ['', 'GiB', null],
    ['0', 'GiB', 0],
    ['5 GB', 'B', 5_000_000_000],
    ['5 ГБ', 'B', 5_000_000_000],
    ['2 g', 'B', 2_147_483_648],
    ['3 т', 'B', 3_298_534_883_328],
  ] as const)('reads %j in %s as %s bytes', (typed, unit, bytes) => {
    expect(readLimit(typed, unit)).toMatchObject({ ok: true, bytes });
  });

  it.each([
    ['1.5 cows', 'notANumber'],
    ['-1', 'negative'],
    ['abc', 'notANumber'],
    ['18446744073709551616', 'tooLarge'],
    ['1e3', 'notANumber'],
    [`1${' '.repeat(200_000)}!`, 'notANumber'],
  ])('refuses %j as %s', (typed, problem) => {
    expect(readLimit(typed, 'B')).toEqual({ ok: false, problem });
  });

  it('writes sizes in binary units of the language', () => {
    expect(formatSize(1536, 'en')).toBe('1.5\u00a0KiB');
    expect(formatSize(1536, 'ru')).toBe('1,5\u00a0КиБ');
    expect(formatSize(9_770_000_000, 'en', true)).toBe('9.77\u00a0GB');
    expect(formatSize(1023, 'en')).toBe('1,023\u00a0B');
    expect(formatSize(2n ** 64n - 1n, 'en')).toBe('16\u00a0EiB');
  });

  it.each([
    ['10', true],
    ['10 000', true],
    ['10_0', true],
    ['10,5', true],
    ['2000000.5', true],
    ['0', false],
    ['0.0', false],
    ['1 000 000', false],
    ['10 GB', false],
    ['', false],
    ['none', false],
  ])('%j lacks its unit: %s', (typed, lacks) => {
    expect(lacksUnit(typed)).toBe(lacks);
  });
});
