import type { Steps } from '../../core/steps.js';

export type ByteWriter = ReturnType<typeof createByteWriter>;

const CHUNK_BYTES = 1 << 18;
/** Chunks that are copied in one step; the cost is memory that is touched for the first time. */
const CHUNKS_A_STEP = 16;
const LF = 0x0a;
const BLANK = 0x20;

/**
 * Creates a writer that collects bytes for a text of unknown length; throws `RangeError` once it exceeds `limit` bytes.
 * Memory grows by chunks, never by doubling.
 */
export function createByteWriter(limit: number) {
  const full: Buffer[] = [];
  let fullBytes = 0;
  let chunk = Buffer.allocUnsafeSlow(1024);
  let used = 0;

  /** Makes room for at least `count` bytes in the current chunk. */
  function reserve(count: number): void {
    if (fullBytes + used + count > limit) throw new RangeError(`the text would be longer than ${limit} bytes`);
    if (used + count <= chunk.length) return;
    full.push(chunk.subarray(0, used));
    fullBytes += used;
    chunk = Buffer.allocUnsafeSlow(Math.max(Math.min(CHUNK_BYTES, 2 * chunk.length), count));
    used = 0;
  }

  const pieces = () => [...full, chunk.subarray(0, used)];

  return {
    byte(value: number): void {
      reserve(1);
      chunk[used] = value;
      used += 1;
    },
    copy(source: Buffer, start: number, end: number): void {
      const count = end - start;
      reserve(count);
      // Most tokens are short, and a call into the runtime costs more than copying them here.
      if (count > 64) source.copy(chunk, used, start, end);
      else for (let i = 0; i < count; i += 1) chunk[used + i] = source[start + i] ?? 0;
      used += count;
    },
    /** Writes a line feed and this many blanks. */
    line(blanks: number): void {
      reserve(1 + blanks);
      chunk[used] = LF;
      chunk.fill(BLANK, used + 1, used + 1 + blanks);
      used += 1 + blanks;
    },
    /** Returns everything written in one buffer, copying some megabytes a step; the writer is then used up. */
    *finish(): Steps<Buffer> {
      const whole = Buffer.allocUnsafeSlow(fullBytes + used);
      let at = 0;
      for (const [n, piece] of pieces().entries()) {
        if (n > 0 && n % CHUNKS_A_STEP === 0) yield;
        at += piece.copy(whole, at);
      }
      return whole;
    },
    /** Returns the same as chunks. */
    pieces,
  };
}
