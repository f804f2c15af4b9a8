import type { ServerResponse } from 'node:http';

/**
 * Bytes handed to the system at once. All of a list of 100,000 keys (19 MB) keeps every other connection waiting for 10 ms
 * and more while the system copies it; much smaller slices make the list itself slow.
 */
const SLICE_BYTES = 1 << 20;

/** Pieces that follow one another. */
type Body = string | Buffer | readonly Buffer[];

/** In bytes. */
export function bodyLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return piecesOf(body).reduce((sum, { length }) => sum + length, 0);
}

/**
 * Ends an answer whose header is written with this body of so many bytes: a large one slice by slice, others being served
 * in between.
 */
export function sendBody(response: ServerResponse, body: Body, length: number): void {
  // A text with a byte for each character is ASCII, which Node writes faster when it need not look for anything else.
  if (typeof body === 'string') response.end(body, body.length === length ? 'latin1' : 'utf8');
  else if (length <= SLICE_BYTES) response.end(Buffer.isBuffer(body) ? body : Buffer.concat(body));
  else sendSlices(response, slicesOf(piecesOf(body)));
}

function piecesOf(body: Exclude<Body, string>): readonly Buffer[] {
  return Buffer.isBuffer(body) ? [body] : body;
}

function* slicesOf(pieces: readonly Buffer[]): Generator<Buffer, void> {
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += SLICE_BYTES) yield piece.subarray(at, at + SLICE_BYTES);
}

function sendSlices(response: ServerResponse, slices: Iterator<Buffer, void>): void {
  function next(): void {
    const slice = slices.next();
    if (slice.done === true) response.end();
    else response.write(slice.value, goOn);
  }
  /** Called once the system has taken the slice, or with an error when the connection is gone. */
  function goOn(error?: Error | null): void {
    if (error) return;
    setImmediate(next);
  }
  next();
}
