import { availableParallelism } from 'node:os';
import type { TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

type TestSettings = NonNullable<ViteUserConfig['test']>;

/** The test files that take longest, longest first: one of them begun last would be waited for while all else is done. */
export const LONG = [
  'panel/batches',
  'shadow/shadow-command',
  'docs/docs',
  'shadow/command-options',
  'panel/keys',
  'panel/changes',
  'panel/pages',
  'cli/compare',
  'panel/editing',
  'panel/session',
  'panel/activity',
  'acceptance/scenarios',
  'upstream/serve',
  'panel/selection',
  'database/scenarios',
  'panel/controls',
  'database/event-takeover',
  'northbound/auth-matrix',
  'panel/handout',
  'replay/own-line',
  'cli/package',
  'panel/rotation',
  'panel/tokens',
  'local/crash',
  'soak/database',
  'database/backend',
  'cli/replay',
  'replay/left-behind',
  'acceptance/in-front',
  'cli/verdict',
  'cli/log-trouble',
  'cli/stored',
  'own-api/jobs',
  'database/places',
  'panel/saving',
  'upstream/matrix',
  'panel/client-address',
  'replay/update',
  'replay/browser',
  'docs/readme-run',
  'database/job-takeover',
  'panel/overview',
  'panel/own-pages',
  'soak/load',
  'cli/serve',
  'panel/unaddressable',
  'soak/hostile',
  'database/writers',
  'soak/beside',
  'soak/upstream',
  'replay/target',
  'cli/commands',
  'shadow/mutations',
  'database/own-writes',
  'own-api/kill',
  'cli/restore-waiting',
  'cli/keys',
  'cli/stop',
  'cli/one-keyway',
  'dns/resolver',
  'dns/blocklists',
  'replay/record',
  'cli/serve-network',
  'local/document/patch',
  'database/plans',
  'panel/trouble',
  'docs/outputs',
  'database/fail-over',
  'upstream/later-losses',
  'soak/kill',
  'database/transfer',
  'serve/connections',
  'database/standing',
  'stand-in/recordings',
  'shadow/random',
  'counters/created-again',
  'upstream/clock-off',
  'database/roles',
  'shadow/answers',
  'database/stopped',
  'cli/progress',
  'replay/busy',
  'southbound/running-server',
  'ops/health',
  'cli/old-node',
  'own-api/rotation',
  'panel/many-keys',
  'mutations/mutations',
  'database/commands',
  'soak/hostile-upstream',
  'dns/tcp',
  'panel/refusals',
  'southbound/faults',
  'feed/usage',
  'counters/full-disk',
  'database/schema',
  'cli/completion',
  'cli/first-start',
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
  // By itself vitest leaves a core to the process that hands out the files, which has little to do.
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
