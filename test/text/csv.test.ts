import fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvField, readCsv } from '../../src/text/csv.js';

it('gives back any fields that were written as CSV', () => {
  const field = fc.string().filter((text) => text.trim() === text && !text.includes('\0'));
  fc.assert(
    fc.property(fc.array(fc.tuple(field, field, field), { minLength: 1 }), (rows) => {
      const kept = rows.filter((row) => row.some((value) => value !== ''));
      const csv = rows.map((row) => row.map(csvField).join(',')).join('\r\n');
      const { records, brokenAt } = readCsv(`a,b,c\r\n${csv}`);
      expect([records.slice(1).map(({ fields }) => fields), brokenAt]).toEqual([kept, null]);
    }),
  );
});

it.each([
  '=1',
  'x;=1',
  ';"=1"',
  "a;'@x;+1",
  "'=1",
  '"-1',
])('lets no spreadsheet take %j for a formula, whether commas or semicolons part its fields, and gives it back', (value) => {
  const field = csvField(value);
  const cells = `key,${field},`.split(/[,;]/).map((cell) => cell.replace(/^"*/, ''));
  expect(cells.filter((cell) => /^[=+\-@]/.test(cell))).toEqual([]);
  expect(readCsv(`key,${field},`).records[0]?.fields).toEqual(['key', value, '']);
});

it.each([
  ['a,b\n"c,d', [['a', 'b']], 2],
  ['a,b\n\n "c",d', [['a', 'b']], 3],
  ['a,"b"c', [], 1],
])('%j is read up to a quotation mark that stands where it may not', (text, fields, line) => {
  const { records, brokenAt } = readCsv(text);
  expect([records.map((record) => record.fields), brokenAt]).toEqual([fields, line]);
});

it.each([
  ';',
  '\t',
  '|',
  ']',
  '^',
  '\\',
  '-',
  '.',
])('a first line parts fields by %j, which is no field of it', (sign) => {
  const { records } = readCsv(`sep=${sign}\r\na${sign}"b\nb"\r\n\r\nc d${sign}e,"f"\r\n`);
  expect(records).toEqual([
    { line: 2, fields: ['a', 'b\nb'] },
    { line: 5, fields: ['c d', 'e,"f"'] },
  ]);
});

it('writes and reads runs of backslashes in one pass', () => {
  const value = `${'\\'.repeat(200_000)}u000a`;
  expect(readCsv(csvField(value)).records[0]?.fields).toEqual([value]);
});

it('goes by the first line that is not empty', () => {
  expect(readCsv('\n\nkey;limit\nk;1GB').records[1]?.fields).toEqual(['k', '1GB']);
});
