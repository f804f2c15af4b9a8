import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './clone.js';

type TestSettings = NonNullable<ViteUserConfig['test']>;

/** The test files that take longest, longest first: one of them begun last would be waited for while all else is done. */
export const LONG = [
  'panel/browser/batches',
  'docs/docs',
  'panel/browser/controls',
  'panel/browser/keys',
  'panel/browser/editing',
  'panel/browser/selection',
  'panel/browser/pages',
  'commands/compare',
  'acceptance/scenarios',
  'panel/browser/activity',
  'panel/browser/session',
  'panel/browser/handout',
  'homes/upstream/serve',
  'homes/database/scenarios',
  'homes/database/event-takeover',
  'northbound/auth-matrix',
  'replay/own-line',
  'package/package',
  'homes/file/crash',
  'homes/database/backend',
  'commands/replay',
  'replay/left-behind',
  'acceptance/in-front',
  'commands/verdict',
  'commands/log-trouble',
  'commands/stored',
  'own-api/jobs',
  'homes/database/places',
  'homes/upstream/matrix',
  'replay/update',
  'replay/browser',
  'docs/readme-run',
  'homes/database/job-takeover',
  'commands/serve',
  'homes/database/writers',
  'replay/target',
  'commands/commands',
  'homes/database/own-writes',
  'own-api/kill',
  'commands/restore-waiting',
  'commands/keys',
  'commands/stop',
  'commands/one-keyway',
  'dns/resolver',
  'dns/blocklists',
  'replay/record',
  'commands/serve-network',
  'document/patch/patch',
  'homes/database/plans',
  'docs/outputs',
  'homes/database/fail-over',
  'homes/upstream/later-losses',
  'homes/database/transfer',
  'serve/connections',
  'homes/database/standing',
  'stand-in/recordings',
  'homes/file/counters/created-again',
  'homes/upstream/clock-off',
  'homes/database/roles',
  'homes/database/stopped',
  'commands/progress',
  'replay/busy',
  'client/running-server',
  'ops/health',
  'commands/old-node',
  'own-api/rotation',
  'mutations/mutations',
  'homes/database/commands',
  'dns/tcp',
  'client/faults',
  'feed/usage',
  'homes/file/counters/full-disk',
  'homes/database/schema',
  'commands/completion',
  'commands/first-start',
].map((name) => `/test/${name}.test.ts`);

/** The ending of test files that take long and show more of what others show: `npm run test:full` runs them, `npm test` does not. */
export const FULL_ALONE = 'test/**/*.long.test.ts';

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
  'test/homes/database/made-up-column.test.ts',
  'test/revisions/made-up.test.ts',
  'test/revisions/taken-out.test.ts',
];

/** Tells whether this user may write in a folder: whoever runs the tests may have another's clone, to read alone. */
function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The settings of every run, of all test files or of the quick ones. */
export const EVERY_RUN: TestSettings = {
  // By itself vitest leaves a core to the process that hands out the files, which has little to do.
  maxWorkers: availableParallelism() + 1,
  sequence: { sequencer: LongestFirst },
  experimental: { fsModuleCache: mayWrite(join(ROOT, 'node_modules')) },
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
  {
    without = [],
    setupFiles = [],
  }: { readonly without?: readonly string[]; readonly setupFiles?: readonly string[] } = {},
): TestProjectConfiguration[] {
  const settings = { ...EVERY_PROJECT, setupFiles: [...setupFiles] };
  return [
    {
      test: {
        ...settings,
        name: 'together',
        include: [...together],
        exclude: [...ALONE, ...without],
        // A process runs one file after another: loading everything anew for each took as long as half of the tests.
        isolate: false,
      },
    },
    { test: { ...settings, name: 'alone', include: [...alone], isolate: true } },
  ];
}
