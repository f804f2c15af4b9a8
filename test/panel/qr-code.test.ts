import fc from 'fast-check';
import { encode } from 'uqr';
import { describe, expect, it } from 'vitest';
import { qrCode } from '../../panel/text/qr-code.js';

/** The code by a library, with each mask that it may have. */
function byLibrary(text: string): readonly string[] {
  const bytes = [...new TextEncoder().encode(text)];
  return [0, 1, 2, 3, 4, 5, 6, 7].map((maskPattern) =>
    encode(bytes, { ecc: 'M', border: 0, maskPattern })
      .data.map((row) => row.map(Number).join(''))
      .join('\n'),
  );
}

describe('a QR code', () => {
  it('is one that a library makes of the same text, for texts in any letters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        expect(byLibrary(text)).toContain(qrCode(text)?.join('\n'));
      }),
      { numRuns: 40 },
    );
  });

  it.each(
    Array.from({ length: 40 }, (_, index) => index + 1),
  )('is right at the most that version %i holds', (version) => {
    const most = [
      ...[14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666],
      ...[
        711, 779, 857, 911, 997, 1059, 1125, 1190, 1264, 1370, 1452, 1538, 1628, 1722, 1809, 1911, 1989, 2099, 2213,
        2331,
      ],
    ][version - 1];
    const text = `ключ: кл${'a'.repeat((most ?? 0) - 14)}`;
    expect(qrCode(text)).toHaveLength(17 + 4 * version);
    expect(byLibrary(text)).toContain(qrCode(text)?.join('\n'));
  });

  it('is none of a text that is too long for one', () => {
    expect(qrCode('a'.repeat(2331))).toHaveLength(177);
    expect(qrCode('a'.repeat(2332))).toBeNull();
  });

  it('takes the mask that is easiest to read, as a library does', () => {
    const texts = Array.from(
      { length: 30 },
      (_, index) => `ostp://${'abcdef'.repeat(index)}@198.51.100.7:50000#${index}`,
    );
    const ours = texts.map((text) => byLibrary(text).indexOf(qrCode(text)?.join('\n') ?? ''));
    const theirs = texts.map((text) => encode([...new TextEncoder().encode(text)], { ecc: 'M' }).maskPattern);
    expect(ours.filter((mask, index) => mask === theirs[index]).length).toBeGreaterThan(20);
  });
});
