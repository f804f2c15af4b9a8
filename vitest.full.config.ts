import { defineConfig } from 'vitest/config';
import { ALONE, BUILT, EVERY_RUN, projectsOf } from './test/runs.js';

// Before any test file is loaded: test/whole.ts reads it.
process.env.TEST_WHOLE = 'yes';

/** Every test file there is: `npm run test:full` takes the long ones among them, `npm run soak` what it is asked for. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    globalSetup: ['test/build-setup.ts', 'test/global-setup.ts'],
    projects: projectsOf(['test/**/*.test.ts'], ALONE, { plugins: [BUILT] }),
  },
});
