/** Whether this run has whole what `npm test` has some cases of: `npm run test:full` has, by a `.long` file for each. */
export const WHOLE = process.env.TEST_WHOLE !== undefined;

/** That of test/seed.ts, as every run hands it to its processes: to read it there would start git. */
const SEED = Number(process.env.TEST_SEED);

/** Takes so many of cases that are much alike, evenly, by the seed: all of them in a whole run. */
export const someOf = <T>(cases: readonly T[], count: number): T[] =>
  cases.filter((_, index) => WHOLE || (((index + SEED) % cases.length) * count) % cases.length < count);
