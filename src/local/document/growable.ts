/** An array of unsigned 32-bit numbers that grows while it is filled. */
export interface GrowableUint32 {
  push(value: number): void;
  /** Exactly what was pushed. */
  finish(): Uint32Array;
}

/** An empty one. */
export function growableUint32(): GrowableUint32 {
  let values = new Uint32Array(16);
  let length = 0;
  return {
    push(value) {
      if (length === values.length) {
        const larger = new Uint32Array(2 * length);
        larger.set(values);
        values = larger;
      }
      values[length] = value;
      length += 1;
    },
    finish: () => values.slice(0, length),
  };
}
