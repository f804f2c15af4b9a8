import type { ServerResponse } from 'node:http';

/**
 * Bytes handed to the system at once. All of a list of 100,000 keys (19 MB) keeps every other connection waiting for 10 ms
 * and more while the system copies it; much smaller slices make the list itself slow.
 */
const SLICE_BYTES = 1 << 20;

/**
 * Ends an answer whose header is written with this body of so many bytes: a large one slice by slice, others being served
 * in between.
 */
export function sendBody(response: ServerResponse, body: string | Buffer, length: number): void {
  // A text with a byte for each character is ASCII, which Node writes faster when it need not look for anything else.
  if (typeof body === 'string') response.end(body, body.length === length ? 'latin1' : 'utf8');
  else if (length <= SLICE_BYTES) response.end(body);
  else sendSlices(response, body);
}

function sendSlices(response: ServerResponse, body: Buffer): void {
  let at = 0;
  function next(): void {
    const slice = body.subarray(at, at + SLICE_BYTES);
    at += slice.length;
    if (at === body.length) response.end(slice);
    else response.write(slice, goOn);
  }
  /** Called once the system has taken the slice, or with an error when the connection is gone. */
  function goOn(error?: Error | null): void {
    if (error) return;
    setImmediate(next);
  }
  next();
}
