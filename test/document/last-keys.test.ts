import { expect, it } from 'vitest';
import { recordOf } from '../../src/core/keys/key-record.js';
import { finish } from '../../src/core/steps.js';
import { candidates, wantedHashes } from '../../src/document/key-changes.js';
import { readKeys } from '../../src/document/key-list.js';
import { lastOfEachSteps } from '../../src/document/last-keys.js';
import { createWarnings } from '../../src/document/reading.js';
import { createScanner } from '../../src/wire/json/scanner.js';

/** Pairs of which either leaves the same FNV-1a hash (32 bits, no seed) behind the ones before: 13 of them make 8,192 keys of one hash. */
const PAIRS = [
  ...[
    ['105zx', '1bpcd'],
    ['0k40p', '1c04a'],
    ['003zx', '0fpad'],
    ['09vl8', '0apd6'],
    ['04pvu', '0b3ea'],
    ['05rnw', '0mpba'],
  ],
  ...Array.from({ length: 7 }, () => ['07rnw', '0opba']),
];

const COLLIDING = PAIRS.reduce<readonly string[]>(
  (keys, pair) => keys.flatMap((key) => pair.map((part) => key + part)),
  [''],
);

function fnv(key: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(key)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

const listOf = (keys: readonly string[]) => readKeys(createScanner(Buffer.from(JSON.stringify(keys)), true), 'key');

/** Reads a list of keys, and returns how often a key of its records is looked at. */
function looksAt(keys: readonly string[]): number {
  let looks = 0;
  const node = listOf(keys);
  const records = keys.map((accessKey) =>
    Object.defineProperty({ ...recordOf(accessKey) }, 'accessKey', {
      get() {
        looks += 1;
        return accessKey;
      },
    }),
  );
  const kept = finish(lastOfEachSteps([{ place: '', node: { ...node, records } }], createWarnings()));
  expect(kept).toHaveLength(keys.length);
  return looks;
}

it('keys that somebody chose so that a hash without a seed is the same are read as fast as others', () => {
  expect(new Set(COLLIDING.map(fnv)).size).toBe(1);
  const others = COLLIDING.map((_, index) => `key ${index}`);
  expect(looksAt(others)).toBeLessThan(4 * others.length);
  expect(looksAt(COLLIDING)).toBeLessThan(4 * COLLIDING.length);
});

it('a change of one of such keys looks at few others', () => {
  const [one = ''] = COLLIDING;
  expect(candidates(listOf(COLLIDING).list, wantedHashes([one])).length).toBeLessThan(8);
});
