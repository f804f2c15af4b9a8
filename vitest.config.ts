import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first: begun last, one of them would be waited for while all else is done. */
const LONG = [
  'soak/kill',
  'cli/compare',
  'docs/docs',
  'panel/session',
  'soak/load',
  'cli/serve-network',
  'local/crash',
  'cli/stored',
  'cli/serve',
  'cli/replay',
  'counters/created-again',
  'panel/pages',
  'panel/keys',
  'panel/editing',
  'acceptance/fixtures',
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

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    // A process runs one file after another: loading everything anew for each took as long as half of the tests.
    isolate: false,
    // Beside the process that hands out the files, which has little to do.
    maxWorkers: Math.max(2, availableParallelism()),
    sequence: { sequencer: LongestFirst },
  },
});
