import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { DEFAULT_ADDRESSES } from '../../src/replay/format/addresses.js';
import { givenFile } from '../../src/replay/play/play.js';
import { anyOwnWrite, anySittings, writesOf } from './any-writes.js';
import { foldersOf, scenariosOf } from './pack.js';
import { anyStarted, expectStarts, RECORDED, startedBy } from './server-starts.js';

const FOLDERS = [
  'earliest',
  'dns',
  'current',
  'v1',
  'lines',
  ...foldersOf('recorded').map((name) => `recorded/${name}`),
];
const seed = Date.now() & 0x7fff_ffff;

/** The files that scenarios stand on, each once, from which servers start. */
const GIVEN = [
  ...new Set(FOLDERS.flatMap(scenariosOf).flatMap(({ scenario }) => givenFile(scenario, DEFAULT_ADDRESSES) ?? [])),
].filter((text) => startedBy(text).length > 0);

describe('a server that starts from a file', () => {
  it.each(
    REVISIONS.map((revision) => [revision.id, revision] as const),
  )('of the fixtures starts from it after each write of a mount of %s', async (_, revision) => {
    expect(GIVEN.length).toBeGreaterThan(10);
    process.stdout.write(`${GIVEN.length} files, seed ${seed}\n`);
    const writes = fc.tuple(...writesOf(revision, RECORDED), fc.array(anyOwnWrite, { minLength: 6, maxLength: 6 }));
    for (const text of GIVEN)
      for (const server of [null, ...startedBy(text)]) {
        const [given = []] = fc.sample(writes, { numRuns: 1, seed });
        // One after the other over the same file, each kind once; what ends a start comes last.
        const inTurn = given.flat().toSorted((a, b) => Number(a.mayEnd === 'always') - Number(b.mayEnd === 'always'));
        await expectStarts(text, server, [{ revision, writes: inTurn, command: null }]);
      }
  });

  it('starts from it after any writes, with many more tries', async () => {
    process.stdout.write(`seed ${seed}\n`);
    await fc.assert(
      fc.asyncProperty(anyStarted, anySittings(RECORDED), ([text, server], sittings) =>
        expectStarts(text, server, sittings),
      ),
      { numRuns: 2_000, seed },
    );
  });
});
