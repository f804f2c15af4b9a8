/** An integer without loss: a number where that is exact, else a bigint. Both kinds compare exactly with `<` and `>`. */
export type Whole = number | bigint;

/** The value as a number where that is exact. */
export function narrow(value: bigint): Whole {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER) ? Number(value) : value;
}
