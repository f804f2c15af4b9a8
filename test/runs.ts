import { availableParallelism } from 'node:os';
import type { TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

type TestSettings = NonNullable<ViteUserConfig['test']>;

/** The test files that take longest, longest first: one of them begun last would be waited for while all else is done. */
export const LONG = [
  'docs/docs',
  'upstream/matrix',
  'panel/pages',
  'panel/editing',
  'database/scenarios',
  'cli/compare',
  'own-api/kill',
  'acceptance/scenarios',
  'replay/target',
  'cli/replay',
  'replay/update',
  'soak/database',
  'soak/kill',
  'soak/upstream',
  'soak/hostile',
  'soak/load',
  'shadow/shadow-command',
  'panel/selection',
  'replay/own-line',
  'panel/keys',
  'panel/session',
  'cli/package',
  'docs/readme-run',
  'proxy/proxies',
  'cli/verdict',
  'database/plans',
  'database/commands',
  'database/backend',
  'replay/record',
  'acceptance/in-front',
  'cli/serve',
  'northbound/auth-matrix',
  'cli/stored',
  'cli/log-trouble',
  'panel/client-address',
  'cli/commands',
  'replay/busy',
  'own-api/jobs',
  'panel/handout',
  'upstream/serve',
  'cli/serve-network',
  'replay/left-behind',
  'cli/one-keyway',
  'cli/stop',
  'database/own-writes',
  'cli/keys',
  'replay/browser',
  'southbound/running-server',
  'panel/controls',
  'counters/created-again',
  'local/crash',
  'database/fail-over',
  'database/places',
  'database/writers',
  'soak/beside',
  'local/kill',
  'southbound/hostile-answers',
  'northbound/bad-input',
  'database/standing',
  'cli/restore-waiting',
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
