import { Readable } from 'node:stream';
import type { OpenFile } from '../core/ports.js';

/** Bytes of a file that are read before it is answered; a file that is no longer than this is not streamed. */
export const FIRST_BYTES = 64 * 1024;

/** Bytes read at a time. A reader that has stopped reading holds at most twice as many in memory. */
const PIECE_BYTES = 64 * 1024;

/**
 * Streams the bytes that a file had when it was opened, beginning with `first`, which has already been read. The next
 * piece is read once the reader has taken the one before. Fails if the file has become shorter; closes the file at the
 * end, and when destroyed.
 */
export function streamFrom(file: OpenFile, first: Buffer): Readable {
  let at = 0;
  async function next(): Promise<Buffer | null> {
    if (at === file.size) return null;
    if (at === 0 && first.length > 0) return first;
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, file.size - at));
    const length = await file.read(piece, at);
    if (length === 0) throw new Error('the file became shorter while it was sent');
    return piece.subarray(0, length);
  }
  return new Readable({
    highWaterMark: PIECE_BYTES,
    read() {
      next().then(
        (piece) => {
          at += piece?.length ?? 0;
          this.push(piece);
        },
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, callback) {
      file.close().then(() => callback(error), callback);
    },
  });
}
