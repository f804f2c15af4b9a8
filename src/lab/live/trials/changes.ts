import { isJsonObject, type JsonObject, type JsonValue } from '../../../wire/json/json.js';
import type { OperationName } from '../../../wire/operations.js';

/** The server that a trial works on. */
export interface Ground {
  /** A key of the run's own. */
  readonly key: string;
  /** Reads the data at a path below the API root; undefined without any. */
  read(path: string): Promise<JsonValue | undefined>;
}

/** One change that a run tries. */
export interface Trial {
  readonly operation: OperationName;
  /** Returns the body; absent for a request without one. */
  body?(ground: Ground): JsonValue;
  /** Tells whether reads show the change; absent if none has to. */
  isMade?(ground: Ground): Promise<boolean>;
}

/** A name longer than usual, with a character outside the basic plane, because servers cut such names. */
const NAME = `keyway-replay \u{1f511} ${'n'.repeat(184)}`;

/** Every change of the run's own keys, or that replaces nothing, in an order in which each finds its key. */
export const TRIALS: readonly Trial[] = [
  {
    operation: 'createUser',
    body: ({ key }) => ({ access_key: key }),
    isMade: async (ground) => (await ownKey(ground)) !== undefined,
  },
  {
    operation: 'updateUser',
    body: () => ({ name: NAME, limit_bytes: 7n }),
    isMade: async (ground) => {
      const key = await ownKey(ground);
      return key?.limit_bytes === 7n && (key.name === undefined || key.name === NAME);
    },
  },
  {
    operation: 'setLimit',
    body: () => ({ limit_bytes: 8n }),
    isMade: async (ground) => (await ownKey(ground))?.limit_bytes === 8n,
  },
  { operation: 'resetUser' },
  { operation: 'bulkCreateUsers', body: () => ({ count: 1n, limit_bytes: null }) },
  { operation: 'refreshBlocklists' },
  { operation: 'deleteUser', isMade: async (ground) => (await ownKey(ground)) === undefined },
];

async function ownKey({ key, read }: Ground): Promise<JsonObject | undefined> {
  const data = await read(`/users/${key}`);
  return isJsonObject(data) ? data : undefined;
}
