import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const ONE = /^\P{Surrogate}$/u;

/**
 * Any one character of Unicode, as the unit of `fc.string`. The unit `binary` says the same, but makes a table of all 1.1
 * million when it is first asked for: 85 MB that every later collection of garbage in the process looks through.
 */
export const codePoint: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (place) => String.fromCodePoint(place < FIRST_SURROGATE ? place : place + SURROGATES),
  (value) => {
    const point = typeof value === 'string' && ONE.test(value) ? value.codePointAt(0) : undefined;
    if (point === undefined) throw new Error('expected one character');
    return point < FIRST_SURROGATE ? point : point - SURROGATES;
  },
);
