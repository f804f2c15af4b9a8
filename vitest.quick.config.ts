import { defineConfig } from 'vitest/config';
import { quickTests } from './test/quick.js';
import { ALONE, EVERY_RUN, projectsOf } from './test/runs.js';

const files = quickTests();

/** `npm run test:quick`: the test files that need nothing but their own process, and no global set-up. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    projects: projectsOf(
      files,
      ALONE.filter((file) => files.includes(file)),
      { setupFiles: ['test/quick-guard.ts'] },
    ),
  },
});
