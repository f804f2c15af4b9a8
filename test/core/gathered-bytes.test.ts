import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { GatheredBytes } from '../../src/core/gathered-bytes.js';

const piece = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.uint8Array({ minLength: 4_000, maxLength: 4_200, size: 'max' }),
);

it('gives back all bytes that came, however they were cut', () => {
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const gathered = new GatheredBytes();
      for (const each of pieces) gathered.add(Buffer.from(each));
      const sent = Buffer.concat(pieces);
      expect(gathered.length).toBe(sent.length);
      expect(gathered.whole().equals(sent)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it('keeps bytes that come one by one in few pieces', () => {
  const gathered = new GatheredBytes();
  for (let n = 0; n < 100_000; n += 1) gathered.add(Buffer.from([n % 256]));
  const concat = vi.spyOn(Buffer, 'concat');
  onTestFinished(() => concat.mockRestore());
  expect(gathered.whole().length).toBe(100_000);
  expect(concat.mock.calls[0]?.[0].length).toBeLessThan(20);
});
