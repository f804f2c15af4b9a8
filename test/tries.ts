/** The random tries of a property: few in every run of the tests, and many times as many in `npm run soak -- --properties`. */
export const tries = (few: number): number => few * Number(process.env.TRIES ?? 1);
