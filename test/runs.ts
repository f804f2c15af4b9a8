import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import type { Plugin, TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './clone.js';
import { SEED } from './seed.js';

type TestSettings = NonNullable<ViteUserConfig['test']>;

/** The test files that take 8 s and more, longest first: one of them begun last would be waited for while all else is done. */
export const LONG = [
  'lab/own-serve-sample-0.3.21.long',
  'acceptance/server-starts.long',
  'homes/database/scenarios.long',
  'homes/told.long',
  'lab/own-serve-sample-tls.long',
  'lab/own-serve-sample.long',
  'homes/upstream/matrix.long',
  'acceptance/scenarios',
  'docs/pages.long',
  'homes/upstream/killed-batch.long',
  'homes/upstream/serve.long',
  'own-api/event-actors.long',
  'homes/database/backend',
  'panel/browser/controls.long',
  'panel/browser/pages.long',
  'package/package.long',
  'soak/upstream.long',
  'panel/browser/editing.long',
  'homes/database/event-takeover.long',
  'own-api/jobs.long',
  'panel/browser/pages',
  'commands/verdict.long',
  'commands/keys.long',
  'panel/browser/batches.long',
  'docs/readme-run',
  'own-api/event-actors',
  'commands/keys',
  'commands/replay.long',
  'own-api/rotation.long',
  'commands/unsaved',
  'own-api/rotation',
  'lab/target.long',
  'commands/unsaved.long',
  'homes/database/places.long',
  'homes/database/job-takeover.long',
  'soak/database.long',
  'acceptance/in-front.long',
  'commands/log-trouble.long',
  'panel/browser/editing',
  'panel/browser/selection.long',
  'commands/serve-network.long',
  'package/package',
  'commands/compare.long',
  'lab/record.long',
  'client/running-server.long',
  'homes/file/counters/created-again.long',
  'northbound/auth-matrix.long',
  'panel/browser/keys.long',
  'homes/database/one-caller.long',
  'soak/load.long',
  'soak/hostile.long',
  'homes/upstream/serve',
  'panel/browser/activity',
  'lab/left-behind.long',
  'panel/browser/session',
  'panel/browser/many-keys.long',
  'lab/browser.long',
  'homes/database/own-writes.long',
  'homes/upstream/later-losses.long',
  'homes/upstream/matrix',
  'homes/database/kept-records.long',
  'homes/database/commands',
  'homes/database/writers.long',
  'commands/stored.long',
  'homes/upstream/later.long',
  'revisions/taken-out.long',
  'soak/beside.long',
  'dns/blocklists.long',
  'lab/own-line.long',
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
  'test/revisions/made-up.long.test.ts',
  'test/revisions/made-up.test.ts',
  'test/revisions/taken-out.long.test.ts',
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
  // For what never ends: beside other work the longest tests take 40 s.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000, interval: 20 } },
  pool: 'forks',
  env: { TEST_SEED: String(SEED) },
  // Tests make much that soon goes again: with little room for it, a tenth of their time is spent on clearing up.
  execArgv: ['--max-semi-space-size=64'],
};

/** Takes what `npm run build` made of a source in its place: to transform every source for tests is a tenth of a run's work. */
export const BUILT: Plugin = {
  name: 'built-sources',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return null;
    const path = relative(ROOT, resolve(dirname(importer), source));
    return /^(?:src|revisions|bench)\/.*\.js$/.test(path) ? { id: join(ROOT, 'dist', path), external: true } : null;
  },
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
    plugins = [],
  }: {
    readonly without?: readonly string[];
    readonly setupFiles?: readonly string[];
    readonly plugins?: Plugin[];
  } = {},
): TestProjectConfiguration[] {
  const settings = { ...EVERY_PROJECT, setupFiles: ['test/seed-properties.ts', ...setupFiles] };
  return [
    {
      plugins,
      test: {
        ...settings,
        name: 'together',
        include: [...together],
        exclude: [...ALONE, ...without],
        // A process runs one file after another: loading everything anew for each took as long as half of the tests.
        isolate: false,
      },
    },
    { test: { ...settings, name: 'alone', include: [...alone], exclude: [...without], isolate: true } },
  ];
}
