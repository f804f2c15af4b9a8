import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ALONE, BUILT, EVERY_RUN, FULL_ALONE, projectsOf } from './test/runs.js';

/** `npm test`: every test file but those that `npm run test:full` adds. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    // Half of their time these tests wait for processes, a browser or what comes after seconds.
    maxWorkers: availableParallelism() + 3,
    globalSetup: ['test/build-setup.ts', 'test/global-setup.ts'],
    reporters: ['default', './test/last-line.ts'],
    projects: projectsOf(['test/**/*.test.ts'], ALONE, { without: [FULL_ALONE], plugins: [BUILT] }),
  },
});
