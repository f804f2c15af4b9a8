import { defineConfig } from 'vitest/config';
import { ALONE, BUILT, EVERY_RUN, projectsOf } from './test/runs.js';

/** Every test file there is: `npm run test:full` takes the long ones among them, `npm run soak` what it is asked for. */
export default defineConfig({
  test: {
    ...EVERY_RUN,
    globalSetup: ['test/build-setup.ts', 'test/global-setup.ts'],
    projects: projectsOf(['test/**/*.test.ts'], ALONE, { plugins: [BUILT] }),
  },
});
