import { Readable } from 'node:stream';
import type { OpenFile } from '../core/ports.js';

/** Bytes that are read of a file before it is answered; one that has no more is not streamed. */
export const FIRST_BYTES = 64 * 1024;

/** Bytes read at a time: what a reader that has stopped taking them holds in memory, twice at most. */
const PIECE_BYTES = 64 * 1024;

/**
 * The bytes that a file had when it was opened, of which these first ones have been read. The next piece is read once the
 * reader has taken the one before. Fails when the file has become shorter; closes it at the end, and when destroyed.
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
