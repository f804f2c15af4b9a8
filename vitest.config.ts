import { defineConfig } from 'vitest/config';
import { ALONE, EVERY_RUN, FULL_ALONE, projectsOf } from './test/runs.js';

/** Test files that are named, from the sources as they stand. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    globalSetup: 'test/global-setup.ts',
    projects: projectsOf(['test/**/*.test.ts'], ALONE, { without: [FULL_ALONE] }),
  },
});
