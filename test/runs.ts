import { availableParallelism } from 'node:os';
import type { TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

type TestSettings = NonNullable<ViteUserConfig['test']>;

/** The test files that take longest, longest first: one of them begun last would be waited for while all else is done. */
export const LONG = [
  'docs/docs',
  'panel/batches',
  'shadow/shadow-command',
  'upstream/matrix',
  'panel/keys',
  'acceptance/scenarios',
  'panel/pages',
  'panel/editing',
  'panel/changes',
  'panel/activity',
  'panel/session',
  'database/scenarios',
  'cli/compare',
  'panel/selection',
  'soak/database',
  'own-api/jobs',
  'panel/controls',
  'panel/unaddressable',
  'panel/saving',
  'upstream/serve',
  'database/backend',
  'cli/stored',
  'cli/log-trouble',
  'local/crash',
  'database/places',
  'replay/own-line',
  'replay/record',
  'cli/replay',
  'panel/tokens',
  'soak/load',
  'database/job-takeover',
  'panel/rotation',
  'acceptance/in-front',
  'proxy/proxies',
  'panel/own-pages',
  'soak/upstream',
  'own-api/kill',
  'replay/browser',
  'soak/hostile',
  'replay/left-behind',
  'cli/verdict',
  'docs/readme-run',
  'northbound/auth-matrix',
  'cli/serve',
  'soak/kill',
  'replay/update',
  'stand-in/recordings',
  'soak/beside',
  'local/document/patch',
  'panel/handout',
  'database/own-writes',
  'panel/overview',
  'panel/client-address',
  'replay/target',
  'cli/restore-waiting',
  'shadow/mutations',
  'dns/resolver',
  'northbound/bad-input',
  'counters/created-again',
  'cli/stop',
  'cli/commands',
  'database/plans',
  'dns/blocklists',
  'database/commands',
  'cli/keys',
  'database/writers',
  'panel/refusals',
  'cli/one-keyway',
  'panel/trouble',
  'serve/connections',
  'database/standing',
  'southbound/running-server',
  'northbound/carry-through',
  'cli/first-start',
  'upstream/later-losses',
  'panel/user-page',
  'cli/serve-network',
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
};

const EVERY_PROJECT: TestSettings = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 30_000, interval: 20 } },
  pool: 'forks',
  // Tests make much that soon goes again: with little room for it, a tenth of their time is spent on clearing up.
  execArgv: ['--max-semi-space-size=64'],
};

/**
 * The projects of a run: these files one after another in the same processes, but for those of `ALONE` among them. They extend nothing: each would
 * do the run's global set-up once more, with a PostgreSQL and ports of its own.
 */
export function projectsOf(
  together: readonly string[],
  alone: readonly string[],
  setupFiles: readonly string[] = [],
): TestProjectConfiguration[] {
  const settings = { ...EVERY_PROJECT, setupFiles: [...setupFiles] };
  return [
    {
      test: {
        ...settings,
        name: 'together',
        include: [...together],
        exclude: [...ALONE],
        // A process runs one file after another: loading everything anew for each took as long as half of the tests.
        isolate: false,
      },
    },
    { test: { ...settings, name: 'alone', include: [...alone], isolate: true } },
  ];
}
