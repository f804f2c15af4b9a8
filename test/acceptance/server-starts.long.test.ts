import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { DEFAULT_ADDRESSES } from '../../src/lab/format/addresses.js';
import { givenFile } from '../../src/lab/play/play.js';
import { readScenarioFiles } from '../../src/lab/play/scenario-files.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { SEED } from '../seed.js';
import { anyOwnWrite, anySittings, writesOf } from './any-writes.js';
import { anyStarted, expectStarts, RECORDED, startedBy } from './server-starts.js';

/** The files that scenarios stand on, each once, from which servers start. */
async function givenFiles(): Promise<readonly string[]> {
  const scenarios = await readScenarioFiles([join(ROOT, 'fixtures')], createFileSystem());
  const texts = scenarios.flatMap((file) =>
    file.kind === 'scenario' ? (givenFile(file.scenario, DEFAULT_ADDRESSES) ?? []) : [],
  );
  return [...new Set(texts)].filter((text) => startedBy(text).length > 0);
}

/** Returns one of some by the seed: beside every line at once, one alone is what a file's server may be. */
const oneOf = <T>(some: readonly T[]): readonly T[] => fc.sample(fc.constantFrom(...some), { numRuns: 1, seed: SEED });

describe('a server that starts from a file', () => {
  it.each(REVISIONS.map((revision) => [revision.id, revision] as const))(
    'of the fixtures starts from it after each write of a mount of %s',
    async (_, revision) => {
      const files = await givenFiles();
      expect(files.length).toBeGreaterThan(10);
      process.stdout.write(`${files.length} files, seed ${SEED}\n`);
      const writes = fc.tuple(...writesOf(revision, RECORDED), fc.array(anyOwnWrite, { minLength: 6, maxLength: 6 }));
      for (const text of files)
        for (const server of [null, ...oneOf(startedBy(text).map(({ version }) => version))]) {
          const [sample = []] = fc.sample(writes, { numRuns: 1, seed: SEED });
          // One after the other over the same file, each kind once; what may end a start comes last.
          const inTurn = sample
            .flat()
            .toSorted((a, b) => Number(a.mayEnd === 'always') - Number(b.mayEnd === 'always'));
          await expectStarts(text, server, [{ revision: revision.id, writes: inTurn, command: null }]);
        }
    },
    // It only reckons, half a minute on a machine to itself: on a slow one it takes what it takes.
    600_000,
  );

  it('starts from it after any writes, with many more tries', async () => {
    await fc.assert(
      fc.asyncProperty(anyStarted, anySittings(RECORDED), ([text, server], sittings) =>
        expectStarts(text, server, sittings),
      ),
      // On a slow machine the tries that were made are enough.
      { numRuns: 200, interruptAfterTimeLimit: 240_000 },
    );
  }, 300_000);
});
