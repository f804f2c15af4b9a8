import type { Duplex } from 'node:stream';
import type { Answer } from '../client/call.js';
import { createCaller } from '../client/caller.js';
import { isJsonObject, type JsonValue, parseJson } from '../wire/json/json.js';

/** A change that was made in memory alone; the message says where and why. */
export class UnsavedError extends Error {
  readonly data: JsonValue;

  constructor(words: string, data: JsonValue) {
    super(words);
    this.data = data;
  }
}

/** Calls Keyway's own interface. Resolves to the data of its answer; rejects with the sentence of a failure, or `UnsavedError`. */
export type OwnCall = (method: string, path: string, body?: object) => Promise<JsonValue>;

const TIMEOUT = 60_000;
/** The paths of the mount on the socket for commands. */
const ROOT = '/panel/keyway/v1';

/** Opens calls of the Keyway to which `connect` leads. */
export function openOwnCalls(connect: () => Duplex): { readonly call: OwnCall; readonly close: () => void } {
  const caller = createCaller({ origin: 'http://localhost', connect, timeoutMilliseconds: TIMEOUT });
  return {
    async call(method, path, body) {
      const answer = await caller.send({
        method,
        path: `${ROOT}${path}`,
        headers: new Map(body === undefined ? [] : [['content-type', 'application/json']]),
        body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      });
      return dataOf(answer);
    },
    close: () => caller.close(),
  };
}

/** The data of an answer in an envelope. Throws as a call rejects. */
export function dataOf({ status, body }: Pick<Answer, 'status' | 'body'>): JsonValue {
  const envelope = parseJson(body);
  if (isJsonObject(envelope) && envelope.ok === true) return envelope.data ?? null;
  const { error = null, code = null, data = null } = isJsonObject(envelope) ? envelope : {};
  if (code === 'saved_in_memory') throw new UnsavedError(String(error), data);
  throw new Error(typeof error === 'string' ? error : `it answered ${status}`);
}
