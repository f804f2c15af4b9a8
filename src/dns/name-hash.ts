/**
 * A hash over names read from their last character to their first, so that one walk over a name meets the hash of every
 * name above it: `com`, `example.com`, `ads.example.com`. Characters are bytes (names are ASCII here).
 */

const PRIME = 0x01000193;

/** Adds the next character to the left. */
export function hashStep(hash: number, character: number): number {
  return Math.imul(hash ^ character, PRIME);
}

/** Spreads what the steps left over all 32 bits; unsigned. */
export function hashEnd(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** The hash of the name that stands in these bytes. */
export function hashOfBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  for (let index = end - 1; index >= start; index--) hash = hashStep(hash, bytes[index] ?? 0);
  return hashEnd(hash);
}
