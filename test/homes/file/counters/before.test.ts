import { expect, it } from 'vitest';
import { readRecords, type StoreRecord } from '../../../../src/homes/file/counters/records.js';
import { readSourceLine } from '../../../../src/homes/file/counters/source-lines.js';
import { isJsonObject, parseJson } from '../../../../src/wire/json/json.js';

const SOURCE = {
  name: 's',
  run: { kind: 'epoch', epoch: 5n },
  number: 7n,
  isBegun: true,
  isBaseline: false,
  connections: 'total',
  postedAt: 1_000,
  runs: 3,
};

function bytesOf(...values: readonly (string | bigint | number)[]): Buffer {
  const pieces = values.map((value) => {
    const piece = Buffer.alloc(typeof value === 'string' ? 4 + value.length : 8);
    if (typeof value === 'bigint') piece.writeBigUInt64LE(value);
    else if (typeof value === 'number') piece.writeDoubleLE(value);
    else {
      piece.writeUInt32LE(2 * value.length);
      piece.write(value, 4, 'latin1');
    }
    return piece;
  });
  return Buffer.concat(pieces);
}

it('a store of before, whose sources do not say from which run their bases count, has them from the last one on', () => {
  const source = Buffer.concat([Buffer.of(9), bytesOf('s', 5n, 5n, 0, 7n, 1_000, 3)]);
  const base = Buffer.concat([Buffer.of(10), bytesOf('s', 'a', 1n, 2n, 3n, 3)]);
  const read: StoreRecord[] = [];
  readRecords(Buffer.concat([source, base]), (record) => read.push(record));
  expect(read).toEqual([
    { kind: 'source', source: { ...SOURCE, comparedFrom: 3 } },
    { kind: 'base', base: { source: 's', accessKey: 'a', bytesUp: 1n, bytesDown: 2n, connections: 3n, runs: 3 } },
  ]);
});

it('so has a backup of before', () => {
  const line =
    '{"source":"s","epoch":5,"number":7,"begun":true,"baseline":false,"connections":"total","posted_at":1000,"runs":3}';
  const read = parseJson(Buffer.from(line));
  expect(isJsonObject(read) && readSourceLine(read)).toEqual({ source: { ...SOURCE, comparedFrom: 3 } });
});
