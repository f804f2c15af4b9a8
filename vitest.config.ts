import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ALONE, EVERY_RUN, FULL_ALONE, projectsOf } from './test/runs.js';

/** `npm test`: every test file but those that `npm run test:full` adds. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    // A third of their time these tests wait for processes, a browser or what comes after seconds. The fourth process on
    // two cores costs 3 % more processor time.
    maxWorkers: availableParallelism() + 2,
    globalSetup: 'test/global-setup.ts',
    reporters: ['default', './test/last-line.ts'],
    projects: projectsOf(['test/**/*.test.ts'], ALONE, { without: [FULL_ALONE] }),
  },
});
