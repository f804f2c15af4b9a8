import { availableParallelism } from 'node:os';
import type { TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

type TestSettings = NonNullable<ViteUserConfig['test']>;

/** The test files that take longest, longest first: one of them begun last would be waited for while all else is done. */
export const LONG = [
  'docs/docs',
  'cli/compare',
  'upstream/matrix',
  'cli/package',
  'soak/database',
  'soak/kill',
  'database/scenarios',
  'soak/upstream',
  'soak/hostile',
  'soak/load',
  'docs/readme-run',
  'proxy/proxies',
  'database/backend',
  'database/plans',
  'database/commands',
  'mutations/mutations',
  'acceptance/in-front',
  'panel/pages',
  'panel/session',
  'panel/editing',
  'panel/keys',
  'cli/replay',
  'replay/own-line',
  'replay/target',
  'cli/stored',
  'cli/log-trouble',
  'counters/created-again',
  'replay/record',
  'local/crash',
  'replay/left-behind',
  'database/own-writes',
  'database/fail-over',
  'database/places',
  'database/writers',
  'cli/keys',
  'cli/verdict',
  'acceptance/scenarios',
  'panel/selection',
  'soak/beside',
  'panel/handout',
  'cli/serve',
  'cli/serve-network',
  'local/kill',
  'southbound/hostile-answers',
  'northbound/bad-input',
  'database/standing',
  'cli/one-keyway',
  'cli/stop',
  'southbound/running-server',
  'upstream/serve',
  'cli/restore-waiting',
  'replay/update',
  'northbound/auth-matrix',
  'dns/resolver',
  'dns/blocklists',
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

/** The test files that put other modules in the place of the project's own: no file after them in the same process may get those. */
export const ALONE = [
  'test/core/keys/made-up-column.test.ts',
  'test/database/made-up-column.test.ts',
  'test/revisions/made-up.test.ts',
  'test/revisions/taken-out.test.ts',
];

/** The settings of every run, of all test files or of the quick ones. */
export const EVERY_RUN: TestSettings = {
  // By itself vitest leaves a core to the process that hands out the files, which has little to do. And one more: many
  // tests wait for processes, a browser or the disk. With two more everything costs a quarter more processor time.
  maxWorkers: availableParallelism() + 1,
  sequence: { sequencer: LongestFirst },
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 30_000 } },
  pool: 'forks',
  // Tests make much that soon goes again: with little room for it, a tenth of their time is spent on clearing up.
  execArgv: ['--max-semi-space-size=64'],
};

/** The projects of a run: these files one after another in the same processes, but for those of `ALONE` among them. */
export function projectsOf(together: readonly string[], alone: readonly string[]): TestProjectConfiguration[] {
  return [
    {
      extends: true,
      test: {
        name: 'together',
        include: [...together],
        exclude: [...ALONE],
        // A process runs one file after another: loading everything anew for each took as long as half of the tests.
        isolate: false,
      },
    },
    { extends: true, test: { name: 'alone', include: [...alone], isolate: true } },
  ];
}
