import { expect, it } from 'vitest';
import { readCsv } from '../../src/text/csv.js';

it('reads a cell of 8 MiB, and tells a quotation mark that is never closed in as much', () => {
  const large = 'x'.repeat(8 * 1024 * 1024);
  expect(readCsv(`a,"${large}"`).records[0]?.fields).toEqual(['a', large]);
  expect(readCsv(`a,"${large}`).brokenAt).toBe(1);
  const marks = large.replaceAll('x', '"');
  expect(readCsv(`a,"${marks}",b`).records[0]?.fields).toEqual(['a', marks.slice(marks.length / 2), 'b']);
});
