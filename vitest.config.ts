import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ALONE, EVERY_RUN, projectsOf } from './test/runs.js';

/** `npm test`: every test file. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    // A third of their time these tests wait for processes, a browser or what comes after seconds. The fourth process on
    // two cores costs 3 % more processor time.
    maxWorkers: availableParallelism() + 2,
    globalSetup: 'test/global-setup.ts',
    projects: projectsOf(['test/**/*.test.ts'], ALONE),
  },
});
