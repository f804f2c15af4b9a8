/** Bytes of the pages into which short pieces go, and the least of a piece that stays as it is. */
const LEAST_PAGE = 256;
const MOST_PAGE = 16 * 1024;
const LONG = 4 * 1024;

/**
 * Bytes that come in pieces, as bodies do. Each piece costs some 300 bytes on top of its own, so a body that is sent
 * byte by byte would hold 300 times its length.
 */
export class GatheredBytes {
  /** The length in bytes. */
  length = 0;
  readonly #pieces: Buffer[] = [];
  #page = Buffer.alloc(0);
  /** The unused rest of the page. */
  #from = 0;
  #to = 0;

  add(piece: Buffer): void {
    const isFirst = this.length === 0;
    this.length += piece.length;
    if (isFirst || piece.length >= LONG) {
      this.#endPiece();
      this.#pieces.push(piece);
      return;
    }
    if (this.#to + piece.length > this.#page.length) {
      this.#endPiece();
      this.#page = Buffer.allocUnsafeSlow(Math.max(LEAST_PAGE, piece.length, Math.min(this.length, MOST_PAGE)));
      this.#from = this.#to = 0;
    }
    this.#to += piece.copy(this.#page, this.#to);
  }

  /** Returns all bytes as one buffer. */
  whole(): Buffer {
    this.#endPiece();
    return Buffer.concat(this.#pieces, this.length);
  }

  #endPiece(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#page.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}
