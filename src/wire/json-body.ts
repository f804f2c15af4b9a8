import { DomainError } from '../core/errors.js';
import { type JsonValue, parseJson } from './json/json.js';
import { JsonSyntaxError } from './json/scanner.js';

/** A body as a value; integers that may be unsigned 64-bit ones as bigint. Throws `invalidBody`, which names the place. */
export function parseBody(bytes: Buffer): JsonValue {
  return readingBody(() => parseJson(bytes, { foreign: true }));
}

/** Returns what a reader of a body returns; where it finds the text at fault, throws `invalidBody` in its error's place. */
export function readingBody<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw faultOf(error);
  }
}

/** The same of a reader that lets others have their turn in between. */
export async function readingBodyLater<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw faultOf(error);
  }
}

function faultOf(error: unknown): unknown {
  if (!(error instanceof JsonSyntaxError)) return error;
  const fault = error.step === 'unicode' ? 'body is no Unicode text' : 'body is no JSON';
  return new DomainError('invalidBody', `${fault}: ${error.message}`);
}
