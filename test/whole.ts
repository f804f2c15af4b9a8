import { SEED } from './seed.js';

/** Whether this run has whole what `npm test` has some cases of: `npm run test:full` has, by a `.long` file for each. */
export const WHOLE = process.env.TEST_WHOLE !== undefined;

/** Takes so many of cases that are much alike, evenly, by the seed: all of them in a whole run. */
export const someOf = <T>(cases: readonly T[], count: number): T[] =>
  cases.filter((_, index) => WHOLE || (((index + SEED) % cases.length) * count) % cases.length < count);
