import type { IncomingMessage } from 'node:http';
import { DomainError } from '../core/errors.js';
import { GatheredBytes } from '../core/gathered-bytes.js';

export interface BodyOptions {
  /** In bytes. */
  readonly limit: number;
  /** Called with the length of each piece, in bytes. */
  readonly taken?: (bytes: number) => void;
}

/** Called once. */
export type BodyDone = (error: Error | null, body?: Buffer) => void;

/**
 * Reads a whole body, in pieces as short as its sender likes; one beyond the limit fails with `bodyTooLarge`. Once a
 * failure is reported, nothing of the body is kept. Returns a function that ends the reading early, with an error.
 */
export function receiveBody(payload: IncomingMessage, options: BodyOptions, done: BodyDone): (error: Error) => void {
  const { limit, taken = () => undefined } = options;
  let gathered = new GatheredBytes();
  let isDone = false;

  function finish(error: Error | null): void {
    if (isDone) return;
    isDone = true;
    payload.off('data', take).off('end', end).off('error', fail);
    const body = error === null ? gathered.whole() : undefined;
    gathered = new GatheredBytes();
    // The rest is read all the same, so that the client gets to read its answer.
    if (error !== null) payload.on('error', () => undefined).resume();
    done(error, body);
  }
  function tooLarge(): void {
    finish(new DomainError('bodyTooLarge', `at most ${limit} bytes are accepted`));
  }
  function take(chunk: Buffer): void {
    if (gathered.length + chunk.length > limit) {
      tooLarge();
      return;
    }
    gathered.add(chunk);
    taken(chunk.length);
  }
  function end(): void {
    finish(null);
  }
  function fail(error: Error): void {
    finish(Object.assign(error, { statusCode: 400 }));
  }

  if (Number(payload.headers['content-length']) > limit) tooLarge();
  else payload.on('data', take).on('end', end).on('error', fail);
  return finish;
}
