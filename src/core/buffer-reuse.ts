/** Allocates memory of exactly so many bytes, with any content. */
export type Allocate = (length: number) => Buffer;

/** A file that grows by a key at a time still fits for a while. */
const SLACK = 1 / 16;
/** Less than this comes out of memory that Node shares out, and costs nothing to speak of. */
const LEAST_BYTES = 32 * 1024;

/**
 * Hands memory of contents that have been replaced to those that come next. V8 counts what lies outside its heap as a reason
 * to collect garbage: with the 10 MB of a large file or list allocated anew for every change, it did so at every other one,
 * which took longer than the change itself.
 */
export function createBufferReuse() {
  const made = new WeakSet<ArrayBufferLike>();
  let spare: ArrayBufferLike | null = null;

  return {
    allocate(length: number): Buffer {
      if (length < LEAST_BYTES) return Buffer.allocUnsafe(length);
      const fits = spare !== null && spare.byteLength >= length ? spare : null;
      const memory = fits ?? Buffer.allocUnsafeSlow(Math.ceil(length * (1 + SLACK))).buffer;
      spare = null;
      made.add(memory);
      return Buffer.from(memory, 0, length);
    },
    /** Takes back bytes that nobody reads any more, for the next allocation. Memory from elsewhere is left alone. */
    retire({ buffer }: Buffer): void {
      if (made.has(buffer)) spare = buffer;
    },
  };
}
