import fc from 'fast-check';
import { expect, test } from 'vitest';
import { movedPlace } from '../../src/lab/format/parse-place.js';

test.each([
  [
    'behind a member of a longer body',
    'at line 1 column 15',
    '{"access_key":5}',
    '{"access_key": 5}',
    'at line 1 column 16',
  ],
  [
    'in a body without lines',
    'at line 2 column 18',
    '{\n  "enabled": "yes"\n}',
    '{"enabled":"yes"}',
    'at line 1 column 16',
  ],
  ['at its last brace', 'at line 3 column 1', '{\n  "a": 1\n}', '{"a":1}', 'at line 1 column 7'],
  ['before a list that was not taken', 'at line 2 column 7', '{\n  "a": []\n}', '{"a":[]}', 'at line 1 column 5'],
  ['before anything', 'at line 1 column 0', '{ }', '{}', 'at line 1 column 0'],
  [
    'behind a key of more bytes than characters',
    'at line 1 column 10',
    '{"k":"a",5',
    '{"k":"ключ",5',
    'at line 1 column 17',
  ],
  [
    'in the middle of a token, where it says nothing',
    'at line 1 column 3',
    '{"abc":1}',
    '{"abc": 1}',
    'at line 1 column 3',
  ],
])('the place of a parser is that of the other spelling: %s', (_, text, from, to, moved) => {
  expect(movedPlace(`expected u64 ${text}`, from, to)).toBe(`expected u64 ${moved}`);
});

test('the end of any value is the end of the same value, however it is spelled', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const [compact, spread] = [JSON.stringify({ value }), JSON.stringify({ value }, null, 2)];
      const end = (text: string) =>
        `at line ${text.split('\n').length} column ${Buffer.byteLength(text.split('\n').at(-1) ?? '')}`;
      expect(movedPlace(end(spread), spread, compact)).toBe(end(compact));
      expect(movedPlace(end(compact), compact, spread)).toBe(end(spread));
    }),
    { seed: 27 },
  );
});
