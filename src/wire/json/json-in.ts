import { isJsonObject, type JsonOptions, JsonSyntaxError, type JsonValue, parseJson } from './json.js';

/** As servers read what is sent to them: of repeated members the last one counts. */
export const LAST_WINS: JsonOptions = { duplicates: 'last' };

/** The JSON value that bytes of a server or client hold; undefined when they hold none. */
export function jsonIn(bytes: Buffer, options: JsonOptions = {}): JsonValue | undefined {
  try {
    return parseJson(bytes, options);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** The `data` of the envelope that bytes hold; undefined where there is none. */
export function dataIn(bytes: Buffer, options: JsonOptions = {}): JsonValue | undefined {
  const envelope = jsonIn(bytes, options);
  return isJsonObject(envelope) ? envelope.data : undefined;
}
