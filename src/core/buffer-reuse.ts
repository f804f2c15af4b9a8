/** Allocates exactly `length` bytes, with any content. */
export type Allocate = (length: number) => Buffer;

/** The spare room of a buffer, so that a file that grows key by key still fits for a while. */
const SLACK = 1 / 16;
/** The least size that is reused: smaller buffers come cheaply from Node's pool. */
const LEAST_BYTES = 32 * 1024;

/**
 * Reuses the memory of replaced contents for the next ones. V8 counts memory outside its heap as a reason to collect
 * garbage: when every change of a large file or list allocated another 10 MB, every other one caused a collection that
 * took longer than the change itself.
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
    /** Takes back bytes that are no longer read, for the next allocation; ignores memory from elsewhere. */
    retire({ buffer }: Buffer): void {
      if (made.has(buffer)) spare = buffer;
    },
  };
}
