import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readExchange } from '../../src/replay/record/passed-heads.js';
import { ALONE, Packing, unpacked } from '../../src/shadow/packing.js';
import type { Passed, UnreadPassed } from '../../src/shadow/traffic.js';

/** As Node reads heads: a character a byte. */
const LATIN = fc
  .array(fc.integer({ min: 0x20, max: 0xff }))
  .map((codes) => codes.map((code) => String.fromCharCode(code)).join(''));
const HEAD = fc.array(fc.tuple(LATIN, LATIN)).map((headers) => headers.flat());
const BODY = fc.oneof(
  fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
  fc.integer({ min: ALONE - 2, max: ALONE + 2 }).map((length) => Buffer.alloc(length, 'x')),
  // Part of memory that others share.
  fc.constant(null).map(() => Buffer.alloc(2 * ALONE, 'y').subarray(7, ALONE + 9)),
);
const PASSED: fc.Arbitrary<UnreadPassed> = fc.record({
  sequence: fc.nat(),
  client: LATIN,
  method: fc.constantFrom('GET', 'POST'),
  path: LATIN,
  status: fc.integer({ min: 200, max: 599 }),
  startedAt: fc.double({ min: 1e12, max: 2e12, noNaN: true }),
  beside: fc.record({ keys: fc.array(fc.string({ unit: 'binary' })), subjects: fc.constant(['keys' as const]) }),
  requestHead: HEAD,
  requestBody: BODY,
  responseHead: HEAD,
  responseBody: BODY,
});

describe('exchanges that are packed', () => {
  test('come out as they were, in their order', () => {
    fc.assert(
      fc.property(fc.array(PASSED, { maxLength: 6 }), (exchanges) => {
        const packing = new Packing();
        const arrived: Passed[] = [];
        const send = () => {
          const { packed, memory } = packing.take();
          arrived.push(...unpacked(structuredClone(packed, { transfer: [...memory] })));
        };
        const expected = exchanges.map((each) =>
          structuredClone({ ...readExchange(each), requestBody: null, responseBody: null }),
        );
        const bodies = exchanges.map((each) =>
          [each.requestBody, each.responseBody].map((body) => body.toString('hex')),
        );
        for (const each of exchanges) {
          if (packing.add(each)) continue;
          send();
          expect(packing.add(each)).toBe(true);
        }
        if (!packing.isEmpty) send();
        expect(arrived.map((each) => ({ ...each, requestBody: null, responseBody: null }))).toEqual(expected);
        expect(
          arrived.map((each) => [each.requestBody, each.responseBody].map((body) => body.toString('hex'))),
        ).toEqual(bodies);
      }),
      { numRuns: 50 },
    );
  });

  test('take no more memory on their way than they have bytes, and keep none that goes on', () => {
    const packing = new Packing();
    const [about] = fc.sample(PASSED, { numRuns: 1, seed: 1 });
    if (about === undefined) throw new Error('nothing was drawn');
    for (const length of [0, 3, ALONE, 5]) {
      packing.add({ ...about, requestBody: Buffer.alloc(0), responseBody: Buffer.alloc(length, 'z') });
      const { packed, memory } = packing.take();
      expect(memory.map(({ byteLength }) => byteLength)).toEqual([packed.bytes.length]);
      const [arrived] = unpacked(structuredClone(packed, { transfer: [...memory] }));
      expect(arrived?.responseBody.toString()).toBe('z'.repeat(length));
    }
  });
});
