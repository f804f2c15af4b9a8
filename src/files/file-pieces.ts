import type { FileSystemPort } from '../core/ports.js';

/** The bytes of something long, piece by piece. A piece never changes after it was handed out. */
export type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Called now and then with the share of the bytes read so far, from 0 to 1. */
export type OnShare = (share: number) => void;

const PIECE_BYTES = 64 * 1024;

/** Yields the bytes that a regular file has when it is opened. Rejects with the file system's error. */
export async function* piecesOf(
  fileSystem: FileSystemPort,
  path: string,
  onShare?: OnShare,
): AsyncGenerator<Buffer, void> {
  const file = await fileSystem.open(path);
  try {
    for (let at = 0; at < file.size; ) {
      onShare?.(at / file.size);
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, file.size - at));
      const length = await file.read(piece, at);
      if (length === 0) return;
      at += length;
      yield piece.subarray(0, length);
    }
  } finally {
    await file.close();
  }
}

/** One line of a text, including its line break; the last may have none. */
export interface TextLine {
  readonly bytes: Buffer;
  /** From 1. */
  readonly number: number;
}

const LF = 0x0a;

/**
 * Hands out a text line by line, holding one at a time. `check` gets the bytes of a line so far, while it is still
 * being read; an error from it, for a line that is too long, ends the reading.
 */
export async function eachLine(
  pieces: Pieces,
  check: (number: number, bytes: number) => void,
  each: (line: TextLine) => void,
): Promise<void> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 1;
  for await (const piece of pieces) {
    for (let start = 0; start < piece.length; ) {
      const found = piece.indexOf(LF, start);
      const end = found === -1 ? piece.length : found + 1;
      parts.push(piece.subarray(start, end));
      length += end - start;
      check(number, length);
      start = end;
      if (found === -1) break;
      each({ bytes: joined(parts), number });
      parts = [];
      length = 0;
      number += 1;
    }
  }
  if (length > 0) each({ bytes: joined(parts), number });
}

function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}
