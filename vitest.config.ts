import { defineConfig } from 'vitest/config';
import { ALONE, EVERY_RUN, projectsOf } from './test/runs.js';

/** `npm test`: every test file. */
export default defineConfig({
  test: { ...EVERY_RUN, globalSetup: 'test/global-setup.ts', projects: projectsOf(['test/**/*.test.ts'], ALONE) },
});
