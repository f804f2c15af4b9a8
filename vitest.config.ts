import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first: begun last, one of them would be waited for while all else is done. */
const LONG = [
  'upstream/matrix',
  'soak/upstream',
  'soak/kill',
  'soak/database',
  'database/scenarios',
  'cli/compare',
  'docs/docs',
  'soak/load',
  'soak/hostile',
  'acceptance/in-front',
  'panel/session',
  'cli/serve-network',
  'docs/readme-run',
  'local/crash',
  'panel/pages',
  'panel/keys',
  'cli/replay',
  'cli/stored',
  'cli/package',
  'panel/editing',
  'replay/target',
  'counters/created-again',
  'replay/record',
  'replay/update',
  'cli/verdict',
  'northbound/auth-matrix',
  'acceptance/fixtures',
  'acceptance/recorded',
  'cli/serve',
  'local/kill',
].map((name) => `/test/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((ending) => moduleId.endsWith(ending));
      return found === -1 ? LONG.length : found;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

/** What puts other modules in the place of the project's own: nobody after it in the same process may get those. */
const ALONE = ['test/revisions/made-up.test.ts', 'test/revisions/taken-out.test.ts'];

export default defineConfig({
  test: {
    // By itself vitest leaves a core to the process that hands out the files, which has little to do. And one more: many
    // tests wait for processes, a browser or the disk.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: ALONE,
          // A process runs one file after another: loading everything anew for each took as long as half of the tests.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, isolate: true } },
    ],
  },
});
