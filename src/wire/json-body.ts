import { DomainError } from '../core/errors.js';
import { type JsonValue, parseJson } from './json/json.js';
import { JsonSyntaxError } from './json/scanner.js';

/** Reads a body; integers of up to 64 bits become bigint. Throws `invalidBody`, which names the place. */
export function parseBody(bytes: Buffer): JsonValue {
  return readingBody(() => parseJson(bytes, { foreign: true }));
}

/** Calls a reader of a body; if it finds the text at fault, throws `invalidBody` in place of its error. */
export function readingBody<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw faultOf(error);
  }
}

/** Does the same for a reader that yields to other work in between. */
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
