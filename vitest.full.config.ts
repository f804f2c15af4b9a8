import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ALONE, EVERY_RUN, projectsOf } from './test/runs.js';

/** Every test file there is: `npm run test:full` takes the long ones among them, `npm run soak` what it is asked for. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    maxWorkers: availableParallelism() + 1,
    globalSetup: 'test/global-setup.ts',
    projects: projectsOf(['test/**/*.test.ts'], ALONE),
  },
});
