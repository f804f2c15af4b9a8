import { expect, it } from 'vitest';
import { readTree } from '../../src/document/tree.js';
import { createScanner } from '../../src/wire/json/scanner.js';

const read = (text: string) => readTree(createScanner(Buffer.from(text), true));

it('an integer that may be an unsigned 64-bit one has its value, and a longer one is not worked out', () => {
  expect(read('18446744073709551615')).toMatchObject({ kind: 'integer', value: 18446744073709551615n });
  expect(read('-7')).toMatchObject({ kind: 'integer', value: -7n });
  expect(read('100000000000000000000')).toEqual({ kind: 'number', start: 0, end: 21 });
  expect(read('9'.repeat(1_000_000))).toEqual({ kind: 'number', start: 0, end: 1_000_000 });
});
