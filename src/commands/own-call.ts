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

/** Opens calls over the socket on which a Keyway listens for commands. */
export function openOwnCalls(socketPath: string): { readonly call: OwnCall; readonly close: () => void } {
  const caller = createCaller({ origin: 'http://localhost', socketPath, timeoutMilliseconds: TIMEOUT });
  return {
    async call(method, path, body) {
      const answer = await caller.send({
        method,
        path: `${ROOT}${path}`,
        headers: new Map(body === undefined ? [] : [['content-type', 'application/json']]),
        body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      });
      const envelope = parseJson(answer.body);
      if (isJsonObject(envelope) && envelope.ok === true) return envelope.data ?? null;
      const { error = null, code = null, data = null } = isJsonObject(envelope) ? envelope : {};
      if (code === 'saved_in_memory') throw new UnsavedError(String(error), data);
      throw new Error(typeof error === 'string' ? error : `it answered ${answer.status}`);
    },
    close: () => caller.close(),
  };
}
